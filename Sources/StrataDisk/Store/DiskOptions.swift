#if Disk
/// How a file on disk is opened and used.
///
/// | setting | default | why |
/// |---|---|---|
/// | durability | process | a cache can be filled again after a power cut |
/// | corruption | recreate | a cache that starts empty is better than none |
/// | lockTimeout | 5 s | longer than another process writes, or opens the file |
/// | readers | 4 | as many reads at a time |
public struct DiskOptions: Sendable, Hashable {
    /// What a completed write survives.
    public enum Durability: Sendable, Hashable {
        /// The end of the process, also by kill -9. After a power cut the newest writes may be missing, but none is
        /// there in part.
        case process
        /// Also a power cut, at the price of waiting for the disk with each write.
        case power
    }

    /// What becomes of a file that is no database, or a damaged one.
    public enum Corruption: Sendable, Hashable {
        /// It is renamed, with `.corrupt` at its end, and a new one takes its place; the newest of those is kept.
        case recreate
        /// Each call throws ``DiskError/Code/corrupt``, and the file stays as it is.
        case fail
    }

    /// What a completed write survives.
    public var durability: Durability
    /// What becomes of a file that is no database, or a damaged one.
    public var corruption: Corruption
    /// How long to wait while another process writes, or opens the file; then the call throws ``DiskError/Code/busy``.
    public var lockTimeout: Duration
    /// How many reads run at a time, from 1 up.
    public var readers: Int
    /// How large the file may grow, in bytes, no matter what the namespaces may hold; with `nil` the disk is the limit.
    public var fileLimit: Int?

    /// Options, each with its default.
    public init(
        durability: Durability = .process,
        corruption: Corruption = .recreate,
        lockTimeout: Duration = .seconds(5),
        readers: Int = 4,
        fileLimit: Int? = nil
    ) {
        self.durability = durability
        self.corruption = corruption
        self.lockTimeout = lockTimeout
        self.readers = readers
        self.fileLimit = fileLimit
    }
}
#endif
