/// The result of filling a cache by a list of keys.
///
/// Each key counts once.
public struct WarmingReport: Sendable {
    /// Keys that memory had already.
    public internal(set) var held = 0
    /// Keys that a level below memory had, another instance's fetch among them.
    public internal(set) var found = 0
    /// Keys that were fetched from the source.
    public internal(set) var fetched = 0
    /// Keys without a value.
    public internal(set) var absent = 0
    /// Keys that have failed.
    public internal(set) var failed = 0
    /// Keys that were not read, or not completely, because the time was over.
    public internal(set) var left = 0
    /// The first failure; `nil` for none.
    public internal(set) var failure: (any Error)?

    /// A report of nothing.
    public init() {}

    /// Whether all keys were read, with whatever outcome.
    public var isComplete: Bool { left == 0 }

    /// Keys that have a value in memory now, unless it had to make room for others.
    public var warmed: Int { held + found + fetched }

    mutating func add(_ other: WarmingReport) {
        held += other.held
        found += other.found
        fetched += other.fetched
        absent += other.absent
        failed += other.failed
        left += other.left
        failure = failure ?? other.failure
    }
}

extension WarmingReport {
    /// The result of one batch.
    ///
    /// - Parameters:
    ///   - entries: The entries, in the order of the keys.
    ///   - keys: The keys.
    ///   - notes: What has failed.
    init<Key: Hashable, Value>(_ entries: [Entry<Value>?], of keys: [Key], _ notes: FailureNotes) {
        var without = 0
        for entry in entries {
            guard let entry, entry.value != nil else {
                without += 1
                continue
            }
            switch entry.origin {
            case .memory: held += 1
            case .source: fetched += 1
            default: found += 1
            }
        }
        let failures = notes.all
        failure = failures.first
        guard !failures.isEmpty else {
            absent = without
            return
        }
        // A level that fails as a whole names no keys: then none of them is known to have no value.
        failed = notes.errors(of: keys).map { $0.count { $0 != nil } } ?? without
        failed = min(failed, without)
        absent = without - failed
    }
}
