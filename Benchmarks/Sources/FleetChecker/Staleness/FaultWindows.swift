/// The times at which a fault was at work, as sorted intervals that do not touch.
struct FaultWindows {
    private var starts: [UInt64] = []
    private var ends: [UInt64] = []

    /// Joins the faults; one that never ended lasts for ever.
    init(_ faults: [HistoryEvent], recovery: UInt64) {
        for fault in faults.sorted(by: { $0.start < $1.start }) {
            let end = fault.hasEnded ? fault.end.addingSaturating(recovery) : .max
            if let last = ends.last, fault.start <= last {
                ends[ends.count - 1] = max(last, end)
            } else {
                starts.append(fault.start)
                ends.append(end)
            }
        }
    }

    /// Whether one was at work at some time within these two.
    func touches(_ start: UInt64, _ end: UInt64) -> Bool {
        let after = starts.firstIndexOfSorted { $0 > end }
        return after > 0 && start <= ends[after - 1]
    }

    /// When the fault and its recovery end that were at work at a time; nil if none was.
    func end(at time: UInt64) -> UInt64? {
        let after = starts.firstIndexOfSorted { $0 > time }
        return after > 0 && time <= ends[after - 1] ? ends[after - 1] : nil
    }

    /// When the last fault and its recovery end that had begun by a time; 0 if none had.
    func lastEnd(by time: UInt64) -> UInt64 {
        let after = starts.firstIndexOfSorted { $0 > time }
        return after > 0 ? ends[after - 1] : 0
    }

    /// How much of the time within these two was within one.
    ///
    /// O(log n), and O(1) for each interval within.
    func length(from start: UInt64, to end: UInt64) -> UInt64 {
        var sum: UInt64 = 0
        var index = ends.firstIndexOfSorted { $0 > start }
        while index < starts.count, starts[index] < end {
            sum += min(ends[index], end) - max(starts[index], start)
            index += 1
        }
        return sum
    }

    func contains(_ time: UInt64) -> Bool {
        let after = starts.firstIndexOfSorted { $0 > time }
        return after > 0 && time <= ends[after - 1]
    }
}
