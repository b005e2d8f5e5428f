/// What a memory level holds and how it was used since it was made.
public struct MemoryStatistics: Sendable, Hashable {
    /// Entries that are held, expired ones included that nobody has touched since.
    public var entries = 0
    /// What they weigh together.
    public var weight = 0
    /// Reads that found a fresh entry.
    public var hits = 0
    /// Reads that did not.
    public var misses = 0
    /// Entries that were displaced by others.
    public var evictions = 0

    mutating func add(_ other: MemoryStatistics) {
        entries += other.entries
        weight += other.weight
        hits += other.hits
        misses += other.misses
        evictions += other.evictions
    }
}
