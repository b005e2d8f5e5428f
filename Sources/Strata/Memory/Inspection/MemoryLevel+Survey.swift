extension MemoryLevel {
    /// The slots of the entries most worth keeping, the hottest first; for ``glimpses(in:)``.
    ///
    /// Complexity: O(`most`), four bytes and a step along a list each; writers wait for it.
    package func hottestSlots(_ most: Int) -> [UInt32] {
        writer.withLock { writer in
            writer.state.drain(readers)
            return writer.state.policy.slots(.hottestFirst, most: most)
        }
    }

    /// The keys of the entries that were hit most since the last call, the most often hit first.
    ///
    /// Hits are counted from the first call until the calls stop; entries without a count follow in the order of
    /// ``hottest(_:)``. Hits that readers could not record are not counted.
    ///
    /// Complexity: O(`most`); writers wait for it.
    package func mostHit(_ most: Int) -> [Key] {
        guard most > 0 else { return [] }
        return writer.withLock { writer in
            writer.state.drain(readers)
            return writer.state.mostHit(most).map { unsafe writer.slot($0).pointee.key }
        }
    }

    /// The entries in some slots, with their keys; those that have left meanwhile are left out.
    ///
    /// The look counts as no use. Writers wait for it, so ask for some dozens at a time.
    ///
    /// Complexity: O(slots).
    package func glimpses(in slots: some Sequence<UInt32>) -> [(key: Key, glimpse: MemoryGlimpse<Value>)] {
        let now = now
        return writer.withLock { writer in
            var found: [(key: Key, glimpse: MemoryGlimpse<Value>)] = []
            for slot in slots where writer.state.policy.contains(slot) {
                let content = unsafe writer.slot(slot)
                let number = Int(unsafe content.pointee.partition)
                found.append((unsafe content.pointee.key, glimpse(in: slot, number, writer, at: now)))
            }
            return found
        }
    }

    /// Whether an entry of this weight needs no other to leave.
    ///
    /// A level that shares a budget asks for more room when it needs it, so that is not known before.
    package func hasRoom(for weight: Int) -> Bool {
        let allowance = writer.withLock { $0.state.policy.limit - $0.state.policy.totalWeight }
        return limit.budget != nil ? weight <= limit.total : weight <= allowance
    }

    /// Gives entries that were just stored the places that earlier ones of their keys had, the hottest first.
    ///
    /// Complexity: O(keys); writers wait for it.
    package func settle(_ keys: [(key: Key, frequency: Int)]) {
        writer.withLock { writer in
            for (key, frequency) in keys {
                let hash = hash(of: key)
                let slot = unsafe partitions[partition(of: hash)].pointee.find(key, tag: tag(of: hash))
                if slot != 0 { writer.state.policy.settle(slot, frequency: frequency) }
            }
            writer.state.check()
        }
    }
}
