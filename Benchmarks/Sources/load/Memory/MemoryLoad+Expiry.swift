import Strata

extension MemoryLoad {
    /// Entries that come in and run out all the time.
    func measureExpiry() async throws {
        let level = MemoryLevel<Int, Product>(limit: .entries(large))
        var times: [Double] = []
        let start = MonotonicInstant.now
        var number = 0
        // Longer than the lifetime by far, so that as many leave as come.
        while start.duration(to: .now) < .seconds(3) {
            let keys = Array(number..<number + 20_000)
            times.append(try await LevelTiming.writes(level, keys, Product(1), lifetime: .milliseconds(200)))
            number += keys.count
        }
        let statistics = level.statistics
        Measurement(
            name: "memory.expiry_churn.ns",
            value: times.median,
            unit: "ns",
            comparedTo: "an insert that expires"
        )
        .print()
        Measurement(
            name: "memory.expiry_churn.resident_share",
            value: Double(statistics.entries) / Double(number),
            unit: "1",
            comparedTo: "entries that were put in; \(statistics.expirations) of \(number) have expired"
        )
        .print()
    }
}
