/// The entries of a memory level, as a sequence that others may read and write meanwhile.
///
/// Entries are copied some dozens at a time, and writers wait for no more than that. An entry that is there from
/// beginning to end comes exactly once; one that comes or goes meanwhile may be seen or not. The sequence counts as no
/// use: it changes neither the eviction nor the counts.
public struct MemoryContents<Key: Hashable & Sendable, Value: Sendable>: Sequence, Sendable {
    /// An entry as it was when it was copied.
    public struct Item: Sendable {
        /// Its key.
        public let key: Key
        /// Its value; `nil` for a remembered absence.
        public let value: Value?
        /// How long ago it was stored, to the second.
        public let age: Duration
        /// Its weight towards the limit.
        public let weight: Int
        /// How often it was read lately, as the policy counts: up to 15, halved from time to time.
        public let frequency: Int
        /// Until when it is fresh.
        public let freshUntil: MonotonicInstant
    }

    /// Copies a few entries at a time.
    private struct Batches: IteratorProtocol {
        private let level: MemoryLevel<Key, Value>
        private var batch: [Item] = []
        private var start: UInt32? = 1

        init(_ level: MemoryLevel<Key, Value>) {
            self.level = level
        }

        /// The next entry.
        mutating func next() -> Item? {
            while batch.isEmpty, let start { (batch, self.start) = level.items(from: start) }
            return batch.popLast()
        }
    }

    fileprivate let level: MemoryLevel<Key, Value>

    /// Begins to look.
    public func makeIterator() -> some IteratorProtocol<Item> { Batches(level) }
}

extension MemoryLevel {
    /// The entries of the level, as a sequence that others may read and write meanwhile.
    public var contents: MemoryContents<Key, Value> { MemoryContents(level: self) }

    /// Entries in a run of slots, and where the next run begins; `nil` at the end.
    fileprivate func items(from start: UInt32) -> (items: [MemoryContents<Key, Value>.Item], next: UInt32?) {
        let now = now
        return writer.withLock { writer in
            var items: [MemoryContents<Key, Value>.Item] = []
            guard start <= writer.state.lastSlot else { return (items, nil) }
            let end = min(writer.state.lastSlot, start + 63)
            for number in start...end where writer.state.policy.contains(number) {
                let slot = unsafe writer.slot(number)
                items.append(
                    MemoryContents.Item(
                        key: unsafe slot.pointee.key,
                        value: unsafe slot.pointee.value,
                        age: writer.state.age(ofStamp: writer.stamp(of: number), at: now),
                        weight: writer.state.policy.weight(of: number),
                        frequency: writer.state.policy.frequency(of: number),
                        freshUntil: writer.freshUntil(of: number)
                    )
                )
            }
            return (items, end + 1)
        }
    }
}
