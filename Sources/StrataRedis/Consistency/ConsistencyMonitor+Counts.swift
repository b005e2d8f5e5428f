public import Strata

extension ConsistencyMonitor: ConsistencyCounted {
    /// The numbers of ``report``, for metrics; the nines cover the last 60 spans of ``ConsistencyReport/bucketLength``.
    public var consistencyCounts: ConsistencyCounts {
        let report = report
        let buckets = report.buckets(at: elapsed)
        var counts = ConsistencyCounts(
            delays: report.delays.indices.map { number in
                let total = report.total[number]
                let recent = buckets.map { $0.counts[number] }.reduce(ConsistencyReport.Counts(), +)
                return ConsistencyCounts.Delay(report.delays[number], results: total.byName, nines: recent.nines)
            }
        )
        counts.changes = report.changes
        counts.leftOut = report.leftOut
        counts.abandoned = report.abandoned
        counts.instances = report.instances
        counts.isListening = report.isListening
        return counts
    }
}

extension ConsistencyReport.Counts {
    /// All counts, by what they are called.
    var byName: [String: Int] {
        [
            "consistent": consistent, "inconsistent": inconsistent, "stale": stale, "suspect": suspect,
            "undecided": undecided, "unknown": unknown, "silent": silent, "unsettled": unsettled,
        ]
    }
}
