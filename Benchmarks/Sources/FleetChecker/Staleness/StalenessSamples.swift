/// The ages of the reads of one class, on their way to a ``StalenessDistribution``.
struct StalenessSamples {
    private var fresh = 0
    private var ages: [UInt64] = []

    mutating func add(_ age: UInt64) {
        if age == 0 { fresh += 1 } else { ages.append(age) }
    }

    /// Sorts what was gathered.
    ///
    /// O(n log n) in the number of reads that were not fresh.
    func distribution() -> StalenessDistribution {
        let sorted = ages.sorted()
        let reads = fresh + sorted.count
        var points: [StalenessDistribution.Point] = []
        var part = 10
        while part <= reads {
            // All but one in `part` reads, rounded up, must lie within.
            let rank = reads - reads / part
            let age = rank <= fresh ? 0 : sorted[rank - fresh - 1]
            points.append(.init(nines: points.count + 1, within: .nanoseconds(Int64(clamping: age))))
            part *= 10
        }
        return StalenessDistribution(
            reads: reads,
            staleReads: sorted.count,
            worst: .nanoseconds(Int64(clamping: sorted.last ?? 0)),
            points: points
        )
    }
}
