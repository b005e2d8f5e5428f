internal import Synchronization

extension MemoryLevel {
    /// Changes how much the level may hold; what exceeds a smaller limit goes at once, the coldest first.
    ///
    /// The unit stays what it was: entries, or cost. Of a level that shares a ``MemoryBudget`` the budget decides, and
    /// this does nothing. A level that is made for a few dozen entries and grown to very many has fewer partitions than
    /// one that is made large, so its writers keep more readers waiting: make it about as large as it will be.
    ///
    /// - Parameter total: The most that entries may weigh together; 0 or less switches the level off.
    /// - Complexity: O(entries that leave).
    public func resize(to total: Int) {
        guard measure.budget == nil else { return }
        let limit = measure.resized(to: total)
        let effect = composition.withLock { composition -> BudgetEffect? in
            let former = self.total.exchange(limit.total, ordering: .relaxed)
            guard former != limit.total else { return nil }
            composition.reserve(for: limit.total)
            writer.withLock { $0.partitionLimit = Self.partitionLimit(limit, $0.partitionCount) }
            return setAllowance(limit.total)
        }
        effect?()
    }
}

/// A gate that its composition holds.
struct WeakGate: Sendable {
    weak var gate: FillGate?
    /// For how many entries it has room.
    var reserved = 0

    /// Makes room for more entries than there ever was: what was reserved is never given back.
    mutating func reserve(for entries: Int) {
        guard let gate, entries > reserved else { return }
        gate.reserve(for: entries - reserved)
        reserved = entries
    }
}

extension MemoryLevel: CountedLevel {
    func withdrawHit(isMiss: Bool) {
        withdrawn.hits.add()
        if isMiss { withdrawn.misses.add() }
    }

    /// No entry weighs less than 1.
    func reserveRoom(in gate: FillGate) {
        composition.withLock { composition in
            let total = self.total.load(ordering: .relaxed)
            composition = WeakGate(gate: gate, reserved: total)
            gate.reserve(for: total)
        }
    }
}
