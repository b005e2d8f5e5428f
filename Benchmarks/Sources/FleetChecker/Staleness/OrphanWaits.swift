/// When a key was fetched by whomever, as sorted intervals that do not touch.
struct OrphanWaits {
    private var starts: [UInt64] = []
    private var ends: [UInt64] = []

    init(_ fetches: [HistoryEvent], unfinished: UInt64) {
        for fetch in fetches.sorted(by: { $0.start < $1.start }) {
            let end = fetch.hasEnded ? fetch.end : fetch.start.addingSaturating(unfinished)
            if let last = ends.last, fetch.start <= last {
                ends[ends.count - 1] = max(last, end)
            } else {
                starts.append(fetch.start)
                ends.append(end)
            }
        }
    }

    /// The longest time between these two in which no instance fetched, less the hardships in it.
    ///
    /// O(log n), and O(log n) for each interval within.
    func longestGap(from start: UInt64, to end: UInt64, without hardships: FaultWindows) -> UInt64 {
        func length(_ from: UInt64, _ to: UInt64) -> UInt64 {
            from < to ? to - from - hardships.length(from: from, to: to) : 0
        }
        var longest: UInt64 = 0
        var free = start
        var index = ends.firstIndexOfSorted { $0 > start }
        while index < starts.count, starts[index] < end {
            longest = max(longest, length(free, starts[index]))
            free = max(free, ends[index])
            index += 1
        }
        return max(longest, length(free, end))
    }
}
