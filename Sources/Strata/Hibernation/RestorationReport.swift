/// What was read back into memory, and what happened to the rest.
public struct RestorationReport: Sendable {
    /// Whether there was a file.
    ///
    /// The first start of a process has none, and that is no error.
    public internal(set) var hasFile = false
    /// Entries that are in memory again, unless it had to make room for others.
    public internal(set) var restored = 0
    /// Entries whose keys memory had already: what this process has read or set is newer.
    public internal(set) var held = 0
    /// Entries that were replaced or removed meanwhile.
    public internal(set) var changed = 0
    /// Entries that a tag or a clear has voided meanwhile.
    public internal(set) var invalidated = 0
    /// Entries whose time is over.
    public internal(set) var expired = 0
    /// Entries that the level below could not judge.
    public internal(set) var unconfirmed = 0
    /// Entries that are damaged, or whose key or value this process cannot read.
    public internal(set) var unreadable = 0
    /// Entries for which memory has no room.
    public internal(set) var refused = 0
    /// Entries that were not looked at because the time was over, as far as the file tells.
    public internal(set) var left = 0
    /// Whether the file has its end.
    ///
    /// One that was cut is used up to there.
    public internal(set) var isWhole = true
    /// The first failure of the level below; `nil` for none.
    public internal(set) var failure: (any Error)?

    /// A report of nothing.
    public init() {}
}
