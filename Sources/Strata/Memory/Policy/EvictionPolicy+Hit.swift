extension EvictionPolicy {
    /// Notes a read of the entry in the slot.
    ///
    /// Calls may come late and in batches, and some may be lost; an empty slot is ignored. Complexity: O(1).
    @inlinable
    package mutating func recordHit(_ slot: UInt32) {
        let index = Int(slot) &+ EvictionPolicy.heads
        guard index < entries.count else { return }
        let entry = entries[index]
        guard entry.queue != .none else { return }
        noteRequest()
        let frequency = increased(entry.frequency, from: entry.epoch, to: epoch)
        entries[index].frequency = frequency
        entries[index].epoch = epoch
        if simulation.samples(entry.hash) {
            simulate(entry.hash, frequency: frequency)
        }
        switch entry.queue {
        case .none: break
        case .window:
            switch strategy.windowHit {
            case .stays: break
            case .refreshes: if !movedLately(entry) { refresh(index, in: .window) }
            case .promotes: promote(index)
            }
        case .probation: promote(index)
        case .protected: if !movedLately(entry) { refresh(index, in: .protected) }
        }
    }

    /// Notes a batch of hits, as if ``recordHit(_:)`` were called for each in turn.
    ///
    /// Cheaper than one call for each if the cache is large: entries are fetched from memory all at once and not one
    /// after the other. Complexity: O(slots).
    @inlinable
    package mutating func recordHits(_ slots: some Collection<UInt32>) {
        if entries.count > EvictionPolicy.largeCount {
            for slot in slots { touch(Int(slot) &+ EvictionPolicy.heads) }
        }
        for slot in slots { recordHit(slot) }
    }

    /// The number of entries from which their memory is too large for the processor's nearer caches.
    @usableFromInline static var largeCount: Int { 1 << 15 }

    /// Reads an entry and its neighbours, so that they are at hand a moment later.
    @inlinable
    @inline(__always)
    mutating func touch(_ index: Int) {
        guard index < entries.count else { return }
        let entry = entries[index]
        touched &+= entries[Int(entry.previous)].hash &+ entries[Int(entry.next)].hash
    }

    /// Reads what the next eviction will need.
    @inline(__always)
    mutating func touchNextVictims() {
        guard count > EvictionPolicy.largeCount else { return }
        let candidate = entries[Int(last(of: .window))]
        let victim = entries[Int(last(of: .probation))]
        touched &+= entries[Int(candidate.previous)].hash &+ entries[Int(victim.previous)].hash
        touched &+= sketch.peek(candidate.hash) &+ sketch.peek(victim.hash)
    }

    /// Moves an entry to the protected part, and what no longer fits there back to probation.
    @usableFromInline
    @inline(never)
    mutating func promote(_ index: Int) {
        guard protectedLimit > 0 else {
            move(index, to: .probation)
            return
        }
        move(index, to: .protected)
        trimProtected(atMost: 3)
    }

    /// Counts a request towards the end of the epoch.
    @inlinable
    @inline(__always)
    mutating func noteRequest() {
        requestsLeftInEpoch &-= 1
        if requestsLeftInEpoch <= 0 { endEpoch() }
    }

    /// Halves all counts, and pauses or resumes the simulation.
    @usableFromInline
    @inline(never)
    mutating func endEpoch() {
        epoch &+= 1
        let length = EvictionPolicy.epochLength(population: max(population, count))
        requestsLeftInEpoch = length
        simulation.endEpoch(misses: min(missesInEpoch, length), requests: length)
        missesInEpoch = 0
    }

    /// Replays a sampled request in the miniatures and follows the strategy that does best.
    @usableFromInline
    @inline(never)
    mutating func simulate(_ hash: UInt32, frequency: UInt8) {
        guard let better = simulation.replay(hash, frequency: frequency, epoch: epoch, current: strategyIndex) else {
            return
        }
        follow(strategyAt: better)
    }

    /// Changes to another strategy.
    ///
    /// The queues are brought to their new sizes by the operations that follow, a few entries each.
    mutating func follow(strategyAt index: Int) {
        strategyIndex = index
        strategy = strategies[index]
        setQueueLimits()
    }

    mutating func setQueueLimits() {
        windowLimit = strategy.windowLimit(of: limit)
        protectedLimit = strategy.protectedLimit(of: limit)
        isRebalancing = true
    }
}
