extension MemoryLevel: BudgetMember {
    var weightHeld: Int { writer.withLock { $0.state.policy.totalWeight } }

    func setAllowance(_ allowance: Int) -> BudgetEffect? {
        var departures = Departures()
        writer.withLock { writer in
            writer.state.drain(readers)
            writer.state.policy.setLimit(allowance, victims: &writer.state.victims)
            writer.removeVictims(because: .size, readers, &departures)
            writer.state.check()
        }
        let left = departures.removals
        guard !left.isEmpty else { return nil }
        // Also without a listener: releasing a value may run code of the user's, and no lock may be held then.
        return { [self] in
            if let onRemoval { CallLocals.apart { left.forEach(onRemoval) } }
            if events.wants(.evicted) { tellEvictions(left) }
        }
    }

    /// Asks the budget for more, for an entry that did not fit or for those that had to go.
    @usableFromInline
    @inline(never)
    func askForMore(_ weight: Int) {
        measure.budget?.grow(self, by: weight)
    }
}
