import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// The monitor of one part of `load verify`, and what it has found.
final class VerifyWatch: Sendable {
    let monitor: ConsistencyMonitor
    /// How long after a change nothing old may be served.
    private let delay: Duration
    private let cases = Mutex<[VerifyCase: Set<String>]>([:])
    private let latest = Mutex(Duration.zero)

    var found: [VerifyCase: Set<String>] { cases.withLock { $0 } }

    /// By how much the latest look that found something was later than its delay.
    var late: Duration { latest.withLock { $0 } }

    private init(_ monitor: ConsistencyMonitor, _ delay: Duration) { (self.monitor, self.delay) = (monitor, delay) }

    /// Watches a fleet with so many instances for as long as the closure runs.
    static func with(
        _ server: RedisServer,
        instances count: Int,
        delay: Duration,
        _ body: (VerifyWatch) async throws -> Void
    ) async throws {
        var configuration = try RedisConfiguration(url: server.url)
        configuration.linkPingInterval = .milliseconds(100)
        // It must not lose its own link because the machine is busy.
        configuration.linkPingTimeout = .seconds(10)
        let redis = try RedisClient(configuration)
        let watch = VerifyWatch(
            // The first look learns the versions that Redis holds for a moment only; what it finds is not judged.
            ConsistencyMonitor(
                redis,
                keyspace: VerifyInstance.keyspace,
                delays: [.milliseconds(100), delay],
                rate: 60
            ),
            delay
        )
        let findings = watch.monitor.inconsistencies(bufferingNewest: 100_000)
        let reading = Task { for await finding in findings { watch.note(finding) } }
        let running = Task { await watch.monitor.run() }
        while watch.monitor.report.instances < count || !watch.monitor.report.isListening {
            try await Task.rest(for: .milliseconds(100))
        }
        var failure: (any Error)?
        do { try await body(watch) } catch { failure = error }
        running.cancel()
        await running.value
        await reading.value
        if let failure { throw failure }
    }

    private func note(_ finding: Inconsistency) {
        latest.withLock { $0 = max($0, finding.age - finding.delay) }
        guard finding.delay >= delay, let key = Int(String(decoding: finding.keyBytes, as: UTF8.self)),
            let instance = finding.instance.split(separator: "-").last.flatMap({ Int($0) })
        else { return }
        let found = VerifyCase(instance: instance, key: key)
        cases.withLock { _ = $0[found, default: []].insert(finding.cause.name) }
    }
}
