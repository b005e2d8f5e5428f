#if Disk
internal import Strata

/// How a level on disk has been used.
public struct DiskStatistics: Sendable, Hashable {
    /// Reads that have found an entry.
    public var hits = 0
    /// Reads that have found none, or an expired one.
    public var misses = 0
    /// Reads that have found bytes that cannot be decoded.
    public var unusable = 0
    /// Calls that have failed at the disk.
    public var failures = 0
    /// Entries that were not kept because there was no room for them.
    public var unkept = 0
    /// Entries that a sweep at 95 % of the limit has dropped.
    public var swept = 0

    /// Nothing counted yet.
    public init() {}
}

final class DiskCounters: Sendable {
    private let counted = Locked(DiskStatistics())

    var snapshot: DiskStatistics { counted.withLock { $0 } }

    func add(_ counter: any WritableKeyPath<DiskStatistics, Int> & Sendable, _ count: Int = 1) {
        counted.withLock { $0[keyPath: counter] += count }
    }
}
#endif
