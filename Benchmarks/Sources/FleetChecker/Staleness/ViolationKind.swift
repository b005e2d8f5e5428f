/// The ways in which a history can break the promises.
public enum ViolationKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// A read gave a version older than one whose invalidation had returned longer ago than the bound.
    case stale
    /// The same within the fleet's bound, but beyond the bound for the reading instance's own invalidations.
    case ownStale = "own_stale"
    /// A read gave a version that no write had begun to make when the read ended.
    case thinAir = "thin_air"
    /// A read gave a value that the run's source cannot have made: damaged, invented, or of another run.
    case forged
    /// A read gave another key's value.
    case stranger
    /// A read gave an older version than an earlier read of the same instance.
    case backwards
    /// Two instances fetched the same key at the same time without an excuse.
    case doubleFetch = "double_fetch"
    /// A read waited while no instance fetched its key.
    case orphanWait = "orphan_wait"
}
