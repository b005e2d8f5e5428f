/// The times of faults that undo what tags' and whole invalidations have left, as sorted intervals that do not touch.
struct Losses {
    private var starts: [UInt64] = []
    private var ends: [UInt64] = []

    init() {}

    init(_ faults: [HistoryEvent], labels: Set<String>) {
        guard !labels.isEmpty else { return }
        let packed = Set(labels.map { FaultLabel.pack($0) })
        for fault in faults.sorted(by: { $0.start < $1.start }) where packed.contains(fault.version) {
            let end = fault.hasEnded ? fault.end : .max
            if let last = ends.last, fault.start <= last {
                ends[ends.count - 1] = max(last, end)
            } else {
                starts.append(fault.start)
                ends.append(end)
            }
        }
    }

    var isEmpty: Bool { starts.isEmpty }

    /// How many had begun by a time.
    func begun(by time: UInt64) -> Int { starts.firstIndexOfSorted { $0 > time } }

    /// How many were over by a time.
    func over(by time: UInt64) -> Int { ends.firstIndexOfSorted { $0 >= time } }
}
