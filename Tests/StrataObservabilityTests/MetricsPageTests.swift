#if Observability
import Foundation
import MetricsTestKit
import Strata
import StrataRedis
import StrataTesting
import Testing

@testable import StrataObservability

/// What `docs/observability.md` and the files in `Observability/` name is what is exported.
@Suite("The page of metrics", .timeLimit(.minutes(5)))
struct MetricsPageTests {
    private struct Row: Hashable {
        var name: String
        var kind: String
        var dimensions: [String]
    }

    private func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The texts between backticks.
    private func quoted(_ text: some StringProtocol) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
    }

    private func rows() throws -> [Row] {
        try text("docs/observability.md").split(separator: "\n")
            .compactMap { line in
                let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                guard line.hasPrefix("|"), cells.count == 5, ["counter", "gauge", "timer"].contains(cells[1]) else {
                    return nil
                }
                return Row(name: quoted(cells[0]).joined(), kind: cells[1], dimensions: quoted(cells[3]))
            }
    }

    @Test("the table has each metric that the code has, with its kind and its dimensions, and no other")
    func table() throws {
        let rows = try rows()
        // The page says of the first two dimensions once that every `cache.*` metric has them.
        let metrics = Metric.all.map { metric in
            let own = metric.dimensions.drop { $0 == "cache.name" || $0 == "cache.level" }
            return Row(name: metric.name, kind: metric.kind.rawValue, dimensions: Array(own))
        }
        #expect(rows.count == Set(rows).count)
        #expect(Set(rows).subtracting(metrics) == [], "rows of no metric")
        #expect(Set(metrics).subtracting(rows) == [], "metrics without a row")
    }

    @Test("a cache at work exports every metric, each with its own dimensions in one order")
    func exported() async throws {
        let server = try await RedisServer.shared()
        let keyspace = Keyspace(Observed.uniqueName())
        let gate = AsyncGate()
        func level() throws -> RedisLevel<Int, String> {
            RedisLevel(try Observed.client(server.url), keyspace: keyspace, codec: .text)
        }
        let slow = try level()
            .fetching(LeaseOptions(duration: .seconds(50))) { key in
                try await gate.pass()
                return "value \(key)"
            }
        let waiting = try level().fetching { "own \($0)" }
        let cache = MemoryLevel<Int, String>(limit: .entries(10))
            .compose(waiting.capped(4).writingBehind(lost: { _ in }, write: { _, _ in }))
            .refreshAll([], every: .seconds(600), as: "c", over: waiting.level.redis)
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(cache, as: "c")
        try metrics.add(consistency: FixedCounts(), as: "c")
        async let fetched = slow.get(1)
        await gate.arrivals()
        async let waited = cache.get(1)
        while waiting.level.statistics.waits == 0 { try await nextTurn() }
        gate.open()
        let values = try await [fetched, waited]
        #expect(values == ["value 1", "value 1"])
        #expect(try await cache.get(2) == "own 2")
        metrics.record()

        var seen: [String: Set<[String]>] = [:]
        var kinds: [String: String] = [:]
        for counter in exported.counters {
            seen[counter.label, default: []].insert(counter.dimensions.map(\.0))
            kinds[counter.label] = "counter"
        }
        for gauge in exported.recorders {
            seen[gauge.label, default: []].insert(gauge.dimensions.map(\.0))
            kinds[gauge.label] = "gauge"
        }
        for timer in exported.timers {
            seen[timer.label, default: []].insert(timer.dimensions.map(\.0))
            kinds[timer.label] = "timer"
        }
        #expect(Set(seen.keys) == Set(Metric.all.map(\.name)))
        for metric in Metric.all {
            #expect(seen[metric.name] == [metric.dimensions])
            #expect(kinds[metric.name] == metric.kind.rawValue)
        }
        // No key and no value is in any dimension.
        let dimensions = exported.timers.flatMap(\.dimensions) + exported.counters.flatMap(\.dimensions)
        #expect(!dimensions.map(\.1).contains { $0.contains("value") || $0.contains("own ") })
    }
}
#endif
