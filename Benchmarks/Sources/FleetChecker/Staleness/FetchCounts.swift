/// How often the source was asked.
public struct FetchCounts: Sendable, Hashable {
    /// Fetches recorded.
    public internal(set) var fetches = 0
    /// Fetches that failed.
    public internal(set) var failed = 0
    /// Fetches without an end: their process was killed.
    public internal(set) var unfinished = 0
    /// Versions of keys that were fetched, each counted once.
    public internal(set) var versions = 0
    /// Versions that were fetched more than once: again after they expired, or by several instances at once.
    public internal(set) var repeatedVersions = 0
    /// How often the version that was fetched most was fetched.
    public internal(set) var mostPerVersion = 0
    /// The key of that version; nil if nothing was fetched.
    public internal(set) var mostFetchedKey: Int?
    /// Fetches that began while another instance was fetching the key, excused ones included.
    public internal(set) var overlaps = 0
    /// Those of them that had an excuse.
    ///
    /// 0 if the rule was not checked.
    public internal(set) var excusedOverlaps = 0
}
