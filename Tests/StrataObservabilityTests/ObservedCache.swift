#if Observability
import MetricsTestKit
import Strata
import StrataObservability
import StrataRedis
import StrataTesting

/// What the tests of metrics and spans share.
enum Observed {
    /// A client that is patient enough for a busy machine.
    static func client(
        _ url: String,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisClient {
        var configuration = try RedisConfiguration(url: url)
        configuration.connectTimeout = .seconds(10)
        configuration.commandTimeout = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        configuration.healthWindow = .seconds(20)
        configuration.linkPingTimeout = .seconds(60)
        adjust(&configuration)
        return try RedisClient(configuration)
    }

    /// A name that no other test has.
    static func uniqueName(_ base: String = "test") -> String { "\(base)-\(UInt64.random(in: 0 ... .max))" }
}

struct NoSuchRow: Error {}

/// A source that can be seen to be let go.
final class CountedSource: Sendable {
    func next(_ key: Int) -> Int { key }
}

/// A level that says of itself what a test wants.
final class ReportingLevel: CacheLevel {
    let counters = Locked<[LevelLabel.Counter]>([])
    /// Called when the label is asked for.
    let onLabel = Locked<@Sendable () -> Void>({})

    func entry(for key: Int, _ request: ReadRequest) async throws -> Entry<Int>? { nil }
    func store(_ entry: Entry<Int>, for key: Int) async throws {}
    func remove(_ key: Int) async throws {}
    func removeAll() async throws {}

    var label: LevelLabel {
        onLabel.withLock { $0 }()
        return LevelLabel("reporting", counters: counters.withLock { $0 })
    }
}

/// A monitor that has counted what a test wants.
final class FixedCounts: ConsistencyCounted {
    let counts = Locked(
        ConsistencyCounts(delays: [.init(.milliseconds(100), results: ["consistent": 10], nines: 1)])
    )

    var consistencyCounts: ConsistencyCounts { counts.withLock { $0 } }
}

extension TestMetrics {
    /// The values of the only counter with these dimensions, and perhaps more.
    func count(_ name: String, _ dimensions: [(String, String)] = []) -> Int {
        Int(counterTotal(label: name, dimensions: dimensions))
    }

    /// The last value of the gauge with these dimensions.
    func level(_ name: String, _ dimensions: [(String, String)] = []) -> Double? {
        recorders(label: name, dimensions: dimensions).first?.lastValue
    }

    /// How many durations were recorded with these dimensions.
    func durations(_ name: String, _ dimensions: [(String, String)] = []) -> Int {
        timers(label: name, dimensions: dimensions).reduce(0) { $0 + $1.values.count }
    }
}
#endif
