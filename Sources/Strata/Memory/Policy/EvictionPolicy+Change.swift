extension EvictionPolicy {
    /// Removes the entry in the slot; does nothing if there is none.
    ///
    /// Complexity: O(1).
    ///
    /// Remembers how often its key was read, so a key that was invalidated and comes back is not new.
    @usableFromInline
    package mutating func remove(_ slot: UInt32) {
        guard contains(slot) else { return }
        forget(Int(slot) + EvictionPolicy.heads)
    }

    /// Removes all entries, and forgets how often their keys were read.
    ///
    /// Complexity: O(slots).
    ///
    /// What was learnt about the workload, the strategy, stays.
    @usableFromInline
    package mutating func removeAll() {
        entries.fill(with: PolicyEntry(linkedToItself: 0))
        for head in 0..<EvictionPolicy.heads {
            entries[head] = PolicyEntry(linkedToItself: UInt32(head))
        }
        queues = PolicyQueues()
        count = 0
        totalWeight = 0
        sketch.removeAll()
        simulation.removeAll()
    }

    /// Changes what the entry in the slot counts towards the limit, and says which entries must go for it.
    ///
    /// An entry that becomes heavier than the limit goes itself, alone. Nothing happens if the slot holds no entry or
    /// entries have no weights.
    ///
    /// - Parameters:
    ///   - slot: The slot of the entry.
    ///   - newWeight: Its weight from now on; below 1 counts as 1.
    ///   - victims: The slots of the entries that are no longer inside are appended here.
    ///
    /// Complexity: O(1), and O(1) for each entry evicted.
    @usableFromInline
    package mutating func reweigh(_ slot: UInt32, to newWeight: Int, victims: inout SlotList) {
        guard isWeighted, contains(slot) else { return }
        let index = Int(slot) + EvictionPolicy.heads
        let newWeight = max(newWeight, 1)
        guard newWeight <= limit, newWeight <= EvictionPolicy.maximumWeight else {
            forget(index)
            victims.append(slot)
            return
        }
        let difference = newWeight - weight(at: index)
        queues.add(0, weighing: difference, to: entries[index].queue)
        weights[index] = UInt32(truncatingIfNeeded: newWeight)
        totalWeight += difference
        makeRoom(&victims)
    }

    /// Changes the largest total weight, and says which entries must go for it.
    ///
    /// - Parameters:
    ///   - newLimit: The limit from now on; below 0 counts as 0.
    ///   - victims: The slots of the entries that are no longer inside are appended here.
    ///
    /// Complexity: O(1), and O(1) for each entry evicted.
    @usableFromInline
    package mutating func setLimit(_ newLimit: Int, victims: inout SlotList) {
        limit = EvictionPolicy.bounded(newLimit)
        setQueueLimits()
        if !isWeighted {
            populationChanged(to: min(limit, Int(Int32.max)))
        }
        makeRoom(&victims)
    }

    /// Evicts the coldest entries until their weights sum up to at least the given share of the present total.
    ///
    /// Meant for memory pressure. The order is that of ``forEachSlot(_:_:)``.
    ///
    /// - Parameters:
    ///   - share: 0 for nothing, 1 for everything; values outside are brought inside, not-a-number is nothing.
    ///   - victims: The slots of the entries that are no longer inside are appended here, coldest first.
    ///
    /// Complexity: O(entries evicted).
    @usableFromInline
    package mutating func shed(_ share: Double, victims: inout SlotList) {
        guard share > 0 else { return }
        let goal = share >= 1 ? totalWeight : Int((Double(totalWeight) * share).rounded(.up))
        let rest = max(totalWeight - goal, 0)
        for queue in EvictionPolicy.coldestFirst {
            while totalWeight > rest, last(of: queue) != Int(queue.rawValue) {
                let index = last(of: queue)
                victims.append(UInt32(index - EvictionPolicy.heads))
                forget(index)
            }
        }
    }
}
