extension EvictionPolicy {
    /// From which end to look at the entries.
    @usableFromInline
    package enum Order: Sendable {
        case coldestFirst
        case hottestFirst
    }

    /// The queues in the order in which shedding empties them.
    ///
    /// Entries on probation were in the main region long enough to be forgotten; those in the window are new; those
    /// that are protected were asked for again.
    static var coldestFirst: [PolicyQueue] { [.probation, .window, .protected] }

    /// Calls `body` with the slot of every entry in the given order, until it returns `false`.
    ///
    /// Coldest first is: probation, window, protected, each from the entry that was moved or inserted longest ago.
    /// Where the strategy keeps a queue in order of insertion, an entry at its cold end may have been hit since.
    /// Nothing is evicted and no hit is counted. Complexity: O(entries looked at).
    @usableFromInline
    package func forEachSlot(_ order: Order, _ body: (UInt32) -> Bool) {
        let queues = EvictionPolicy.coldestFirst
        for queue in order == .coldestFirst ? queues : queues.reversed() {
            let head = UInt32(queue.rawValue)
            var index = order == .coldestFirst ? entries[Int(head)].previous : entries[Int(head)].next
            while index != head {
                guard body(index - UInt32(EvictionPolicy.heads)) else { return }
                index = order == .coldestFirst ? entries[Int(index)].previous : entries[Int(index)].next
            }
        }
    }

    /// The slots of at most `most` entries in the given order.
    ///
    /// Complexity: O(`most`).
    @usableFromInline
    package func slots(_ order: Order, most: Int = .max) -> [UInt32] {
        var slots: [UInt32] = []
        guard most > 0 else { return slots }
        forEachSlot(order) { slot in
            slots.append(slot)
            return slots.count < most
        }
        return slots
    }

    /// The hash of the key in the slot, or of the one that was in it last.
    func hash(of slot: UInt32) -> UInt32 {
        let index = Int(slot) + EvictionPolicy.heads
        return index < entries.count ? UInt32(truncatingIfNeeded: entries[index].hash) : 0
    }

    /// How often the key in the slot was asked for of late, as the policy counts it: 0 to 15.
    @usableFromInline
    package func frequency(of slot: UInt32) -> Int {
        guard contains(slot) else { return 0 }
        let entry = entries[Int(slot) + EvictionPolicy.heads]
        return Int(aged(entry.frequency, from: entry.epoch, to: epoch) & FrequencySketch.maximum)
    }
}
