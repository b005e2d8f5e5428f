/// What a history contains.
public struct HistoryTotals: Sendable, Hashable {
    /// Events of all kinds.
    public internal(set) var events = 0
    /// Instances that did something.
    public internal(set) var instances = 0
    /// Keys that something was done with.
    public internal(set) var keys = 0
    /// From the first start to the last end or start.
    public internal(set) var span: Duration = .zero
    /// Reads of all outcomes.
    public internal(set) var gets = 0
    /// Reads that said the source has no value.
    public internal(set) var absences = 0
    /// Reads of levels that did not have the value; they prove nothing.
    public internal(set) var misses = 0
    /// Reads that failed.
    public internal(set) var failedGets = 0
    /// Writes, those included whose outcome is not known.
    public internal(set) var writes = 0
    /// Writes that failed or whose process was killed: the version may have been written or not.
    public internal(set) var unknownWrites = 0
    /// Invalidations of all scopes and outcomes, sets included.
    public internal(set) var invalidations = 0
    /// Invalidations that failed or never returned: they require nothing.
    public internal(set) var unknownInvalidations = 0
    /// Invalidations of a tag that the checker was not told the keys of: they require nothing either, which may hide
    /// violations.
    public internal(set) var unmappedInvalidations = 0
    /// Faults marked.
    public internal(set) var faults = 0
    /// Events that were not recorded for want of room, or because their key is not one of the run's.
    public internal(set) var dropped: UInt64 = 0
    /// Records that a file should hold and does not: it was cut.
    public internal(set) var lost: UInt64 = 0
    /// Records that were claimed and never written, because the process was killed in that instant.
    public internal(set) var torn: UInt64 = 0
    /// Records that make no sense: the file is damaged.
    public internal(set) var unreadable: UInt64 = 0
}
