/// The contents and the use of a memory level since it was made.
///
/// Every entry that came in is still there or has left for one of the causes: `insertions` is `entries` and the causes
/// together.
public struct MemoryStatistics: Sendable, Hashable {
    /// Entries that the level holds, including expired ones that have not left yet.
    public var entries = 0
    /// Their weight together.
    public var weight = 0
    /// Reads that were served a fresh entry.
    public var hits = 0
    /// Reads that found none, or none that a composition could serve: it was void, too old for the reader, or to be
    /// replaced.
    public var misses = 0
    /// Entries that were taken in.
    public var insertions = 0
    /// Entries that had to make room.
    public var evictions = 0
    /// Entries whose lifetime was over.
    public var expirations = 0
    /// Entries that were not read for too long.
    public var idleExpirations = 0
    /// Entries that were replaced by another of the same key.
    public var replacements = 0
    /// Entries that were removed by their key.
    public var removals = 0
    /// Entries that left when the level was emptied.
    public var clearings = 0
    /// Entries that were shed because memory was short.
    public var sheddings = 0
    /// Entries that were never taken in, because they are larger than the limit.
    public var refusals = 0

    /// All zero.
    @inlinable
    public init() {}

    /// Hits by hits and misses; 0 before the first read.
    public var hitRatio: Double {
        hits + misses == 0 ? 0 : Double(hits) / Double(hits + misses)
    }

    /// How many entries have left for a cause.
    public func count(of cause: RemovalCause) -> Int {
        switch cause {
        case .size: evictions
        case .expired: expirations
        case .idle: idleExpirations
        case .replaced: replacements
        case .removed: removals
        case .cleared: clearings
        case .pressure: sheddings
        default: 0
        }
    }

    @inlinable
    mutating func add(_ count: Int, to cause: RemovalCause) {
        switch cause {
        case .size: evictions &+= count
        case .expired: expirations &+= count
        case .idle: idleExpirations &+= count
        case .replaced: replacements &+= count
        case .removed: removals &+= count
        case .cleared: clearings &+= count
        default: sheddings &+= count
        }
    }
}
