/// Where the value of a read came from, as far as the reader was told.
public enum ReadLevel: UInt8, Sendable, Hashable, Codable, CaseIterable {
    /// The reader was not told.
    case unknown = 0
    /// The memory of the process.
    case memory
    /// The disk of the machine.
    case disk
    /// The Redis that the fleet shares.
    case redis
    /// The source.
    case source
    /// The work of another caller that this one joined or waited for.
    case flight
}
