/// What a memory level holds, to be looked through while others read and write.
///
/// Entries are copied some dozens at a time, and writers wait for no more than that. An entry that is there from the
/// beginning to the end comes exactly once; one that comes or goes meanwhile may be seen or not. Looking is no use: it
/// changes neither what will be evicted nor the counts.
public struct MemoryContents<Key: Hashable & Sendable, Value: Sendable>: Sequence, Sendable {
    /// An entry as it was when it was copied.
    public struct Item: Sendable {
        /// Its key.
        public let key: Key
        /// Its value; `nil` for a remembered absence.
        public let value: Value?
        /// How long ago it was stored, to the second.
        public let age: Duration
        /// What it counts towards the limit.
        public let weight: Int
        /// How often it was asked for of late, as the policy counts: up to 15, and halved now and then.
        public let frequency: Int
        /// Until when it is fresh.
        public let freshUntil: MonotonicInstant
    }

    /// Copies a few entries at a time.
    public struct Iterator: IteratorProtocol {
        private let level: MemoryLevel<Key, Value>
        private var batch: [Item] = []
        private var start: UInt32? = 1

        fileprivate init(_ level: MemoryLevel<Key, Value>) {
            self.level = level
        }

        /// The next entry.
        public mutating func next() -> Item? {
            while batch.isEmpty, let start { (batch, self.start) = level.items(from: start) }
            return batch.popLast()
        }
    }

    fileprivate let level: MemoryLevel<Key, Value>

    /// Begins to look.
    public func makeIterator() -> Iterator { Iterator(level) }
}

extension MemoryLevel {
    /// What the level holds, to be looked through while others read and write.
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
