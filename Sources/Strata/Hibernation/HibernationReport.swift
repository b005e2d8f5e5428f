/// What was written of memory.
public struct HibernationReport: Sendable, Hashable {
    /// Entries in the file.
    public internal(set) var written = 0
    /// Bytes of the file.
    public internal(set) var bytes = 0
    /// Entries that were left out because they are void or have expired.
    public internal(set) var void = 0
    /// Entries that were left out because no later process could tell whether they still hold: above Redis, those that
    /// were never stored there.
    public internal(set) var unconfirmable = 0
    /// Entries that were left out because they are larger than 16 MiB, or cannot be encoded.
    public internal(set) var unwritable = 0
    /// Entries that were left out because a limit was reached: the coldest.
    public internal(set) var left = 0
}
