extension MemoryLevel {
    /// The keys of the entries most worth keeping, the hottest first.
    ///
    /// Complexity: O(`most`); writers wait for it.
    public func hottest(_ most: Int) -> [Key] { keys(.hottestFirst, most) }

    /// The keys of the entries that would be shed first, the coldest first.
    ///
    /// Complexity: as ``hottest(_:)``.
    public func coldest(_ most: Int) -> [Key] { keys(.coldestFirst, most) }

    private func keys(_ order: EvictionPolicy.Order, _ most: Int) -> [Key] {
        writer.withLock { writer in
            writer.state.drain(readers)
            return writer.state.policy.slots(order, most: most).map { unsafe writer.slot($0).pointee.key }
        }
    }

    /// The keys of the oldest entries, the oldest first, to the second.
    ///
    /// Writers may run in between.
    ///
    /// Complexity: O(entries × log `most`).
    public func oldest(_ most: Int) -> [Key] {
        guard most > 0 else { return [] }
        // The oldest so far, the youngest of them last.
        var found: [(age: Duration, key: Key)] = []
        for item in contents {
            if found.count == most, let last = found.last, item.age <= last.age { continue }
            let place = found.partitioningPlace { $0.age < item.age }
            found.insert((item.age, item.key), at: place)
            if found.count > most { found.removeLast() }
        }
        return found.map(\.key)
    }
}

extension Array {
    /// The first place whose element satisfies the condition, where all that do stand behind those that do not.
    fileprivate func partitioningPlace(_ condition: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
