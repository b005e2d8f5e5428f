/// As many keys as have their events in memory at once.
package struct KeyRound {
    package let keys: Range<Int>
    /// Where each key's events begin; the last entry is the count of all.
    private let offsets: [Int]

    /// Takes keys from `first` on until the limit of events is reached; one key at least.
    package init(from first: Int, _ eventsPerKey: [Int], limit: Int) {
        var offsets = [0]
        var end = first
        while end < eventsPerKey.count {
            let sum = offsets[offsets.count - 1] + eventsPerKey[end]
            if sum > limit, end > first { break }
            offsets.append(sum)
            end += 1
        }
        self.keys = first..<end
        self.offsets = offsets
    }

    /// Gathers the events by key in one pass, then hands out the keys that have any.
    package func visitKeys(
        of history: History,
        _ body: (_ key: Int, _ events: ArraySlice<HistoryEvent>) -> Void
    ) throws(CheckerError) {
        let count = offsets[offsets.count - 1]
        guard count > 0 else { return }
        let blank = HistoryEvent(.fault, .open, instance: 0, start: 0, end: 0)
        var events = [HistoryEvent](repeating: blank, count: count)
        var next = Array(offsets.dropLast())
        _ = try history.visit { event in
            switch event.kind {
            case .get, .write, .set, .fetch, .invalidateKey: break
            case .invalidateTag, .invalidateAll, .instance, .fault: return
            }
            guard keys.contains(Int(event.key)) else { return }
            let place = Int(event.key) - keys.lowerBound
            // A file that is still written to may have completed a record since the survey counted.
            guard next[place] < offsets[place + 1] else { return }
            events[next[place]] = event
            next[place] += 1
        }
        for key in keys {
            let place = key - keys.lowerBound
            let slice = offsets[place]..<next[place]
            if !slice.isEmpty { body(key, events[slice]) }
        }
    }
}
