/// What a decoder accepts of a document before it gives up with a ``CBORError``.
///
/// A document is checked against the limits in one pass before a value is made of it. Memory is taken only for what has
/// been seen, never for what a length announces: 32 bytes for each array and map and 48 for each pair of a map, and up
/// to twice that, until the decode ends.
public struct CBORLimits: Hashable, Sendable {
    /// The greatest number of arrays, maps and tags around an item.
    ///
    /// 128 by default. Values outside 1...512 count as the nearer end: decoding a nested type recurses. On x86-64 a
    /// level of a small type takes a kilobyte of stack in optimized code, and up to three where it is not.
    public var depth: Int

    /// The greatest length of a document in bytes.
    ///
    /// 64 MiB by default. Values outside 0...2³¹−1 count as the nearer end.
    public var bytes: Int

    /// The greatest number of elements of all arrays and of pairs of all maps together.
    ///
    /// 8 388 608 by default.
    public var elements: Int

    /// The greatest length of one text or byte string in bytes, the chunks of an indefinite one taken together.
    ///
    /// 64 MiB by default, which is to say the document's own limit.
    public var stringBytes: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - depth: The greatest nesting.
    ///   - bytes: The greatest length of a document.
    ///   - elements: The greatest number of elements and pairs.
    ///   - stringBytes: The greatest length of one string.
    public init(
        depth: Int = 128,
        bytes: Int = 64 << 20,
        elements: Int = 1 << 23,
        stringBytes: Int = 64 << 20
    ) {
        self.depth = depth
        self.bytes = bytes
        self.elements = elements
        self.stringBytes = stringBytes
    }

    /// The nesting that is used: within what a thread's stack can bear.
    static func usableDepth(_ depth: Int) -> Int {
        min(max(depth, 1), 512)
    }

    /// The document length that is used: offsets are held in 32 bits.
    var usableBytes: Int {
        min(max(bytes, 0), Int(Int32.max))
    }
}
