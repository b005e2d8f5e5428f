/// A key of two parts.
///
/// ```swift
/// let stock = RedisLevel<KeyPair<String, Int>, Int>(redis, keyspace: "stock")
/// let count = try await stock.get(KeyPair("berlin", 42))
/// ```
///
/// The bytes are those of the parts with a colon between them; a colon inside a part is escaped. So different pairs
/// have different bytes. A part may be a pair.
public struct KeyPair<First: KeyRepresentable, Second: KeyRepresentable>: KeyRepresentable {
    /// The first part.
    public var first: First
    /// The second part.
    public var second: Second

    /// A key of two parts.
    public init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    /// The parts joined by a colon, as ``KeyBytes/joining(_:_:)`` does it.
    public var keyBytes: [UInt8] { KeyBytes.joining(first, second) }
}
