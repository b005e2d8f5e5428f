extension EvictionPolicy {
    /// Gives an entry that was just taken in the place that an earlier one of its key had: behind all others that are
    /// as worth keeping.
    ///
    /// Entries that are settled from the hottest on then stand in that order. Nothing is evicted and no request is
    /// counted. Complexity: O(1).
    ///
    /// - Parameters:
    ///   - slot: The slot of the entry; one that holds none is ignored.
    ///   - frequency: How often its key was asked for of late, as ``frequency(of:)`` tells.
    package mutating func settle(_ slot: UInt32, frequency: Int) {
        guard contains(slot) else { return }
        let index = Int(slot) + EvictionPolicy.heads
        let count = UInt8(min(max(frequency, 1), Int(FrequencySketch.maximum)))
        entries[index].frequency = entries[index].frequency & FrequencySketch.returned | count
        entries[index].epoch = epoch
        let isProtected = count > 1 && queues.protectedWeight + weight(at: index) <= protectedLimit
        moveBehind(index, in: isProtected ? .protected : .probation)
    }

    /// Moves an entry from its queue to the back of one.
    private mutating func moveBehind(_ index: Int, in queue: PolicyQueue) {
        let weight = weight(at: index)
        queues.add(-1, weighing: -weight, to: entries[index].queue)
        unlink(index)
        let head = Int(queue.rawValue)
        let position = UInt32(truncatingIfNeeded: index)
        let last = entries[head].previous
        entries[index].previous = last
        entries[index].next = UInt32(truncatingIfNeeded: head)
        entries[index].queue = queue
        // Not among those that were moved to the front of late.
        entries[index].stamp = moveClock &- 64
        entries[Int(last)].next = position
        entries[head].previous = position
        queues.add(1, weighing: weight, to: queue)
    }
}
