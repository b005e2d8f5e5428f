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
    /// A fetcher: nothing above it had the value.
    public static let source: EntryOrigin = "source"
}
