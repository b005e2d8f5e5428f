extension EvictionPolicy {
    /// Stops the program if the policy's own bookkeeping contradicts itself.
    ///
    /// Does nothing in release builds.
    ///
    /// Complexity: O(slots) in debug builds.
    @usableFromInline
    package func checkInvariants() {
        #if DEBUG
        var found = PolicyQueues()
        for queue in EvictionPolicy.coldestFirst {
            let head = UInt32(queue.rawValue)
            var index = entries[Int(head)].next
            var previous = head
            while index != head {
                let entry = entries[Int(index)]
                precondition(entry.previous == previous, "a link back does not match the link forth")
                precondition(entry.queue == queue, "an entry stands in another queue than it says")
                precondition(weight(at: Int(index)) >= 1, "an entry without weight")
                precondition(
                    entry.frequency & ~FrequencySketch.returned <= FrequencySketch.maximum,
                    "a count above the maximum"
                )
                found.add(1, weighing: weight(at: Int(index)), to: queue)
                previous = index
                index = entry.next
                precondition(
                    found[queue].count <= entries.count,
                    "a queue has a cycle"
                )
            }
            precondition(entries[Int(head)].previous == previous, "the back of a queue is not its last entry")
            precondition(found[queue] == queues[queue], "a queue has lost count")
        }
        let all = EvictionPolicy.coldestFirst
        precondition(count == all.reduce(0) { $0 + found[$1].count })
        precondition(totalWeight == all.reduce(0) { $0 + found[$1].weight })
        precondition(totalWeight <= limit, "more inside than the limit allows")
        var resident = 0
        for index in EvictionPolicy.heads..<entries.count where entries[index].queue != .none { resident += 1 }
        precondition(resident == count, "an entry says that it is in a queue and is in none")
        simulation.checkInvariants()
        #endif
    }
}
