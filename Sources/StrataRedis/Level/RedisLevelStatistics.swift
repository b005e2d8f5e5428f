internal import Strata

/// How a Redis level was used since it was made.
public struct RedisLevelStatistics: Sendable, Hashable {
    /// Reads and updates that found an envelope they could use; below `fetching` the reads that were served with it.
    ///
    /// A read that waits for another instance's fetch is none: it was a miss. Nor is a refresh that finds the value
    /// it is to replace.
    public var hits = 0
    /// Reads that a replica has answered while the primary did not; not part of ``hits``.
    public var replicaHits = 0
    /// Reads that found nothing, or nothing that they wanted: it was stale, too old, or to be replaced.
    public var misses = 0
    /// Reads that found bytes they could not use: damaged, foreign, of a newer release, of another key, undecodable.
    public var unusable = 0
    /// Reads that found an entry that an invalidation of a tag, or a clear, has voided.
    public var voided = 0
    /// Calls that failed in Redis, or were not answered in time.
    public var failures = 0
    /// Fetches from the source, each of a key: one call of the source for several keys is a fetch of each.
    public var fetches = 0
    /// Fetches without a lease, because Redis could not be asked or no instance delivered in time.
    public var uncoordinatedFetches = 0
    /// Fetches that have failed.
    public var failedFetches = 0
    /// Reads that waited for another process.
    public var waits = 0
    /// Fetched values that were stored.
    public var stores = 0
    /// Fetched values that were not stored because the lease was gone.
    public var refusedStores = 0
    /// Removals of a key, calls that invalidate tags, and clears by this level that Redis has confirmed.
    public var sentInvalidations = 0
    /// Notices that have voided what memory had of a key, of tags, or of everything.
    ///
    /// The removal of a value that is there brings two; in a cluster tags and clears bring one from each of 16 parts.
    /// Removals by this instance are among them, its writes are not.
    public var heardInvalidations = 0
}

/// The counters behind ``RedisLevelStatistics``.
///
/// Each is changed after a round trip, so one lock for all is enough.
final class RedisLevelCounters: Sendable {
    private let statistics = Locked(RedisLevelStatistics())

    var snapshot: RedisLevelStatistics { statistics.withLock { $0 } }

    func add(_ counter: any WritableKeyPath<RedisLevelStatistics, Int> & Sendable) {
        change { $0[keyPath: counter] += 1 }
    }

    func change(_ body: (inout RedisLevelStatistics) -> Void) { statistics.withLock { body(&$0) } }
}
