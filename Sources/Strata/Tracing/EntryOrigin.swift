/// The kind of level in which an entry was found.
public struct EntryOrigin: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name, as metrics and read traces show it.
    public let description: String

    /// An origin with a short name.
    public init(_ name: String) {
        description = name
    }

    /// An origin with a short name.
    public init(stringLiteral value: String) {
        description = value
    }

    /// The memory of this process.
    public static let memory: EntryOrigin = "memory"
    /// The Redis server that instances share.
    public static let redis: EntryOrigin = "redis"
    /// The writes of this process that the source has not got yet; see ``WritingBehind``.
    public static let pendingWrite: EntryOrigin = "pending write"
    /// A fetcher: nothing above it had the value.
    public static let source: EntryOrigin = "source"
}
