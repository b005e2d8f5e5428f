import Foundation

/// What the whole fleet has seen, as a table, and which promises that breaks.
struct FleetSummary {
    private let reports: [InstanceReport]
    private let documents: Int

    init(reports: [InstanceReport], documents: Int) {
        self.reports = reports
        self.documents = documents
    }

    /// How often the fleet has fetched each document.
    private var fetches: [String: Int] {
        reports.reduce(into: [:]) { $0.merge($1.fetches, uniquingKeysWith: +) }
    }

    private static let places = ["memory", "redis", "source"]

    var table: String {
        var rows = [["", "requests", "share", "p50", "p90", "p99", "max"]]
        let total = reports.reduce(0) { $0 + $1.requests.values.reduce(0, +) }
        for place in Self.places {
            let count = reports.reduce(0) { $0 + ($1.requests[place] ?? 0) }
            let latencies = Latencies(reports.map { $0.latencies[place] ?? [:] })
            let share = String(format: "%.2f %%", 100 * Double(count) / Double(max(total, 1)))
            rows.append([place, "\(count)", share] + [0.5, 0.9, 0.99, 1].map { latencies.text(at: $0) })
        }
        rows.append(["all", "\(total)", "", "", "", "", ""])
        let fetched = fetches.values.reduce(0, +)
        let waits = reports.reduce(0) { $0 + $1.waits }
        return "\n" + Self.layOut(rows) + """

            Fetches:   \(fetched) by the whole fleet, of \(fetches.count) distinct documents (\(documents) exist)
            Waits:     \(waits) requests waited for a fetch of another task or process

            """
    }

    var brokenPromises: [String] {
        var broken: [String] = []
        for (path, count) in fetches.sorted(by: { $0.key < $1.key }) where count > 1 {
            broken.append("one fetch: the fleet fetched \(path) \(count) times")
        }
        for path in Set(reports.flatMap(\.wrong)).sorted() {
            broken.append("no stranger's value: a value of \(path) was not what the file holds")
        }
        for error in Set(reports.flatMap(\.errors)).sorted() { broken.append("no failed call: \(error)") }
        return broken
    }

    private static func layOut(_ rows: [[String]]) -> String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return
            rows.map { row in
                row.enumerated()
                    .map { column, text in
                        let padding = String(repeating: " ", count: widths[column] - text.count)
                        return column == 0 ? text + padding : padding + text
                    }
                    .joined(separator: "   ")
            }
            .joined(separator: "\n") + "\n"
    }
}

/// Latencies in nanoseconds with their counts.
struct Latencies {
    private let sorted: [(nanoseconds: UInt64, count: Int)]
    private let total: Int

    init(_ parts: [[UInt64: Int]]) {
        var counts: [UInt64: Int] = [:]
        for part in parts { counts.merge(part, uniquingKeysWith: +) }
        sorted = counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        total = counts.values.reduce(0, +)
    }

    func text(at share: Double) -> String {
        var seen = 0
        for (nanoseconds, count) in sorted {
            seen += count
            guard Double(seen) >= share * Double(total) else { continue }
            return switch nanoseconds {
            case ..<10_000: String(format: "%.2f µs", Double(nanoseconds) / 1e3)
            case ..<10_000_000: String(format: "%.0f µs", Double(nanoseconds) / 1e3)
            default: String(format: "%.1f ms", Double(nanoseconds) / 1e6)
            }
        }
        return "-"
    }
}
