import Foundation
import StrataTesting

/// Requests that come at a fixed rate, whether or not the service is quick: a queue shows in the latencies.
struct OpenLoad {
    let fleet: ShopFleet
    let products: Int
    /// Requests a second.
    let rate: Int
    let seconds: Int

    /// What the callers have seen.
    struct Report: Sendable {
        /// From the moment a request was due to its answer.
        var latencies: [String: [Duration]] = [:]
        var retried = 0
        var failures: [String] = []

        var requests: Int { latencies.values.reduce(0) { $0 + $1.count } + failures.count }
    }

    /// Sends all requests; `meanwhile` runs beside them.
    func run(seed: UInt64, _ meanwhile: @Sendable () async throws -> Void = {}) async throws -> Report {
        async let beside: Void = meanwhile()
        let report = await send(seed)
        // What was sent of an interrupted load is no report.
        try Task.checkCancellation()
        try await beside
        return report
    }

    private func send(_ seed: UInt64) async -> Report {
        var random = SeededGenerator(seed: seed)
        let ranks = ZipfDistribution(count: products, exponent: 0.9)
        let start = ContinuousClock.now
        return await withTaskGroup(of: (String, Duration, Bool, String?).self) { [fleet, rate, seconds] group in
            for number in 0..<rate * seconds {
                let due = start + .seconds(Double(number) / Double(rate))
                // Product 1 is the slow one.
                let id = 2 + ranks.next(using: &random) % (products - 1)
                guard (try? await Task.sleep(until: due, clock: .continuous)) != nil else { break }
                group.addTask {
                    do {
                        let answer = try await fleet.product(id, from: number % fleet.instances.count)
                        let failure = answer.product == nil ? "product \(id) was not found" : nil
                        return (answer.origin, due.duration(to: .now), answer.isRetried, failure)
                    } catch {
                        return ("", .zero, false, "\(error)")
                    }
                }
            }
            var report = Report()
            for await (origin, latency, isRetried, failure) in group {
                if let failure {
                    report.failures.append(failure)
                } else {
                    report.latencies[origin, default: []].append(latency)
                    if isRetried { report.retried += 1 }
                }
            }
            return report
        }
    }
}

extension OpenLoad.Report {
    /// Latencies by where values came from.
    var table: String {
        var rows = [["", "requests", "p50", "p90", "p99", "max"]]
        for (origin, latencies) in latencies.sorted(by: { $0.value.count > $1.value.count }) {
            let sorted = latencies.sorted()
            let marks = [0.5, 0.9, 0.99, 1]
                .map { share in
                    String(
                        format: "%.1f ms",
                        sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))] / .milliseconds(1)
                    )
                }
            rows.append([origin, "\(latencies.count)"] + marks)
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return
            rows.map { row in
                "  "
                    + row.enumerated()
                    .map { column, text in
                        let space = String(repeating: " ", count: widths[column] - text.count)
                        return column == 0 ? text + space : space + text
                    }
                    .joined(separator: "  ")
            }
            .joined(separator: "\n")
    }
}
