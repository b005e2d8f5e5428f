extension EvictionPolicy {
    /// Takes in a new entry and says which entries must go for it.
    ///
    /// The entry itself may be among them: it is refused if it is heavier than the limit, in which case nothing else
    /// is evicted, or if it is less worth keeping than what it would displace.
    ///
    /// - Parameters:
    ///   - slot: A slot that holds no entry. If it does hold one, that one is removed first.
    ///   - hash: The hash of the key: the same whenever the key comes back.
    ///   - weight: What the entry counts towards the limit; below 1 counts as 1. Ignored if entries have no weights.
    ///   - victims: The slots of the entries that are no longer inside are appended here, coldest first.
    /// - Returns: Whether the new entry is inside.
    ///
    /// Complexity: O(1) amortised, and O(1) for each entry evicted.
    @usableFromInline
    @discardableResult
    package mutating func insert(
        _ slot: UInt32,
        hash: UInt64,
        weight: Int = 1,
        victims: inout SlotList
    ) -> Bool {
        if contains(slot) { remove(slot) }
        let weight = isWeighted ? max(weight, 1) : 1
        guard weight <= limit, weight <= EvictionPolicy.maximumWeight else {
            victims.append(slot)
            return false
        }
        let index = claim(slot)
        let hash = seeded(hash)
        noteRequest()
        missesInEpoch &+= 1
        let past = sketch.recall(hash, at: epoch)
        let count = min((past & FrequencySketch.maximum) &+ 1, FrequencySketch.maximum)
        let frequency = past & FrequencySketch.returned | count
        entries[index].hash = hash
        entries[index].frequency = frequency
        entries[index].epoch = epoch
        if isWeighted { weights[index] = UInt32(truncatingIfNeeded: weight) }
        if simulation.samples(hash) {
            simulate(hash, frequency: frequency)
        }
        let isFull = totalWeight + weight > limit
        if isFull { rebalance() }
        self.count += 1
        totalWeight += weight
        link(index, atFrontOf: .window)
        queues.add(1, weighing: weight, to: .window)
        if isFull {
            makeRoom(&victims)
        } else {
            fillMain()
        }
        followPopulation(isFull: isFull)
        touchNextVictims()
        return entries[index].queue != .none
    }

    /// The index of a slot, with room made for it.
    private mutating func claim(_ slot: UInt32) -> Int {
        let index = Int(slot) + EvictionPolicy.heads
        if index >= entries.count || (isWeighted && index >= weights.count) {
            let doubled = max(2 * (entries.count - EvictionPolicy.heads), 16)
            // Slots are numbered from 1, and one is taken before another is given back.
            reserveSlots(max(Int(slot) + 1, isWeighted ? doubled : min(doubled, limit + 2)))
        }
        return index
    }

    /// The entry that the next insertion evicts, most likely; 0 if it evicts none.
    @inlinable
    @inline(__always)
    var nextCandidate: UInt32 {
        guard totalWeight &+ 1 > limit else { return 0 }
        let queue: PolicyQueue = queues.windowWeight >= windowLimit ? .window : .probation
        return UInt32(truncatingIfNeeded: max(last(of: queue) &- EvictionPolicy.heads, 0))
    }

    /// Evicts until the total weight is within the limit.
    mutating func makeRoom(_ victims: inout SlotList) {
        while totalWeight > limit {
            let victim = last(of: queues.hasProbation ? .probation : .protected)
            guard queues.windowWeight > windowLimit || queues.mainIsEmpty else {
                evict(victim, &victims)
                continue
            }
            let candidate = last(of: .window)
            if queues.mainIsEmpty || !admits(candidate, over: victim) {
                evict(candidate, &victims)
            } else {
                evict(victim, &victims)
                if totalWeight <= limit { move(candidate, to: .probation) }
            }
        }
    }

    private mutating func admits(_ candidate: Int, over victim: Int) -> Bool {
        let challenger = entries[candidate]
        let defender = entries[victim]
        let challenge = aged(challenger.frequency, from: challenger.epoch, to: epoch)
        let defence = aged(defender.frequency, from: defender.epoch, to: epoch)
        return strategy.admits(challenge, over: defence, dice: nextRandom())
    }

    /// Takes an entry out for good; the sketch keeps how often it was asked for.
    private mutating func evict(_ index: Int, _ victims: inout SlotList) {
        victims.append(UInt32(truncatingIfNeeded: index &- EvictionPolicy.heads))
        forget(index)
    }

    mutating func forget(_ index: Int) {
        let entry = entries[index]
        let weight = weight(at: index)
        unlink(index)
        queues.add(-1, weighing: -weight, to: entry.queue)
        entries[index].queue = .none
        self.count -= 1
        totalWeight -= weight
        let count = aged(entry.frequency, from: entry.epoch, to: epoch) & FrequencySketch.maximum
        sketch.retire(entry.hash, count: count, at: epoch)
    }

    /// Moves a few entries to where they belong after the strategy or the limit changed.
    @inline(__always)
    private mutating func rebalance() {
        if queues.protectedWeight > protectedLimit { trimProtected(atMost: 2) }
        guard isRebalancing else { return }
        for _ in 0..<2 {
            guard queues.windowWeight > windowLimit else {
                isRebalancing = false
                return
            }
            move(last(of: .window), to: .probation)
        }
    }

    /// While the cache is not full, what the window cannot hold passes into the main region without a contest.
    private mutating func fillMain() {
        for _ in 0..<3 where queues.windowWeight > windowLimit {
            move(last(of: .window), to: .probation)
        }
    }

    @usableFromInline
    mutating func trimProtected(atMost most: Int) {
        for _ in 0..<most where queues.protectedWeight > protectedLimit {
            move(last(of: .protected), to: .probation)
        }
    }

    /// Looks whether the number of entries is no longer what the tables were made for.
    @inline(__always)
    private mutating func followPopulation(isFull: Bool) {
        if isFull {
            if count > population || count < population &- (population &>> 3) { populationChanged(to: count) }
        } else if count > population {
            populationChanged(to: count + count / 4 + 8)
        }
        if count >= growthCount { grow() }
    }

    /// Adapts what depends on the number of entries in a full cache.
    mutating func populationChanged(to population: Int) {
        self.population = population
        // A level that was made smaller must not go by the counts of the larger one for the rest of its epoch.
        requestsLeftInEpoch = min(requestsLeftInEpoch, EvictionPolicy.epochLength(population: max(population, count)))
        simulation.setPopulation(population)
        tuneMoveClock()
    }

    /// Gives the sketch at least 8 bytes for each entry, and the clock of moves its pace.
    private mutating func grow() {
        while sketch.blockCount * 8 < count { sketch.double() }
        growthCount = min(2 * count, sketch.blockCount * 8) + 1
        tuneMoveClock()
    }

    private mutating func tuneMoveClock() {
        let bits = Int.bitWidth - max(count, 1).leadingZeroBitCount
        moveShift = bits > 7 ? UInt32(bits - 7) : 0
    }
}
