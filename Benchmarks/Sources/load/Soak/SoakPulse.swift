import FleetChecker
import Strata
import StrataRedis
import Synchronization

/// Finds out when a machine that is short of processors keeps an instance from its work.
///
/// All the time it asks the server for nothing, by the connection that the caches use, and looks how long that took. A
/// read is a few such round trips, and after half a second of them a cache goes on without Redis, as it should: then it
/// may fetch a key beside another instance. So slow beats are marked as ``label``, which excuses that; their time does
/// not count where a read waits while no instance fetches, and nothing else is excused. `soak.starved_ms` is their
/// length in all instances together: on a quiet machine little beside what faults make slow.
final class SoakPulse: Sendable {
    /// The name of the mark.
    static let label = "starved"
    private static let period: Duration = .milliseconds(10)
    /// A read is up to five round trips: so many of these are what a call may spend on Redis.
    private static let longest: UInt64 = 80_000_000

    private let redis: RedisClient
    private let log: InstanceLog
    private let counters: SoakCounters
    private let changes: SoakModeChanges
    private let isOver = Atomic(false)

    init(_ redis: RedisClient, _ log: InstanceLog, _ counters: SoakCounters, _ changes: SoakModeChanges) {
        self.redis = redis
        self.log = log
        self.counters = counters
        self.changes = changes
    }

    func end() { isOver.store(true, ordering: .relaxed) }

    /// Beats until ``end()``.
    func run() async {
        var mode = redis.tracking
        while !isOver.load(ordering: .relaxed) {
            // An instance may choose another by itself.
            if redis.tracking != mode {
                mode = redis.tracking
                changes.add()
            }
            let start = HistoryClock.now()
            try? await Task.rest(for: Self.period)
            try? await redis.ping(timeout: .seconds(5))
            let length = HistoryClock.now() - start
            guard length > Self.longest else { continue }
            log.recordFault(Self.label, since: start)
            counters.add("starved_ms", Int(length / 1_000_000))
        }
    }
}
