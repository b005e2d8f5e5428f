/// What failovers have lost.
public struct FailoverCounts: Sendable, Hashable {
    /// Confirmed changes of keys that a failover may have lost; one of a tag counts for each of its keys.
    public internal(set) var atRisk = 0
    /// Those of them that were lost: a read gave what they should have ended.
    public internal(set) var lost = 0
    /// The reads that gave such a value.
    public internal(set) var reads = 0
    /// How old such a value was at most.
    public internal(set) var worst: Duration = .zero
}
