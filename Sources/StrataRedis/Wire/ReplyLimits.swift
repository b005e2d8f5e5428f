/// How large a reply may be before it is refused.
///
/// Every limit is checked against the length that the server *announces*, before memory is spent. A string above a
/// limit is skipped while it arrives, and its call alone fails with ``RedisError/Code/tooLarge``. Anything else above a
/// limit, and a string longer than the longest of Redis (512 MiB), breaks the connection with
/// ``RedisError/Code/protocolViolation``; a fresh one is opened for the next call. A command whose answer is short,
/// such as PING, may not be answered with more than 64 KiB either.
///
/// A value longer than ``longestValue`` is not written either: a client with the same limits could not read it.
public struct ReplyLimits: Sendable, Hashable {
    /// Longest bulk string in bytes; 16 MiB by default.
    public var bulkLength: Int
    /// Most bytes of one whole reply, over all its strings and lines; 512 MiB by default, the longest string of Redis.
    public var length: Int
    /// Most elements of one whole reply, over all its arrays; 1 048 576 by default.
    public var elements: Int
    /// Deepest nesting of arrays; 7 by default, the most that every release of hiredis parses.
    public var depth: Int
    /// Longest line in bytes (status, error, number, header); 64 KiB by default.
    public var lineLength: Int

    /// Limits, each with its default.
    public init(
        bulkLength: Int = 16 << 20,
        length: Int = 512 << 20,
        elements: Int = 1 << 20,
        depth: Int = 7,
        lineLength: Int = 64 << 10
    ) {
        self.bulkLength = bulkLength
        self.length = length
        self.elements = elements
        self.depth = depth
        self.lineLength = lineLength
    }

    /// The longest value that may be written: a client with these limits can read it, alone and in the answer of a
    /// script.
    public var longestValue: Int { min(bulkLength, max(0, length - 4_096)) }

    /// The longest string that a Redis server has by its own limits, and so the longest that is passed over.
    static let longestString = 512 << 20
    /// What every command may be answered with: bytes, and elements.
    static let ordinary = (length: 64 << 10, elements: 1_024)
}
