/// Decodes `Codable` values from CBOR, the binary format of RFC 8949.
///
/// Any well-formed document is taken, not only those that ``CBOREncoder`` makes: indefinite lengths, numbers and
/// lengths that are not written in their shortest form, half-precision numbers, maps in any order, keys of any kind
/// (those that are neither text nor integers are passed over) and unknown tags, which are ignored.
///
/// Documents may come from strangers: everything is checked before a value is made of it, see ``CBORLimits``.
///
/// The type is a plain value: copying, sharing and creating one cost nothing.
public struct CBORDecoder: Sendable {
    /// What becomes of a map that holds a key twice.
    public enum DuplicateKeys: Sendable {
        /// The document is refused, wherever in it the map stands.
        case reject
        /// The pair that comes first counts.
        case useFirst
        /// The pair that comes last counts.
        case useLast
    }

    /// What becomes of a map that holds a key twice; ``DuplicateKeys/reject`` by default.
    public var duplicateKeys = DuplicateKeys.reject

    /// What is accepted of a document.
    public var limits = CBORLimits()

    /// What the values being decoded can see in their decoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates a decoder with the default options.
    public init() {}

    /// Decodes a value from a document.
    ///
    /// O(n) in the size of the document, plus O(k log k) for each map of k keys that are not in order.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - bytes: The document, and nothing behind it.
    /// - Returns: The value.
    /// - Throws: ``CBORError`` if the document is not well-formed, exceeds a limit, repeats a key or holds text that is
    ///   not UTF-8 where it is read; `DecodingError` if it does not fit the type; and what the type's own `init(from:)`
    ///   throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try unsafe bytes.withUnsafeBytes { unsafe try decode(type, from: $0) }
    }

    /// Decodes a value from a document in a span of bytes.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - bytes: The document, and nothing behind it.
    /// - Returns: The value.
    /// - Throws: What ``decode(_:from:)-(_,[UInt8])`` throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: RawSpan) throws -> Value {
        try unsafe bytes.withUnsafeBytes { unsafe try decode(type, from: $0) }
    }

    /// Decodes a value from a document in borrowed memory.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - bytes: The document, and nothing behind it. It is not read after the call; a value that keeps its decoder
    ///     keeps a copy.
    /// - Returns: The value.
    /// - Throws: What ``decode(_:from:)-(_,[UInt8])`` throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        var reader = unsafe try CBORReader(self, bytes)
        try reader.scan()
        defer { reader.finish(isShared: !isKnownUniquelyReferenced(&reader)) }
        return try reader.decode(type, at: CBORReader.Place(offset: 0, container: 0))
    }

    /// Checks that a document is well-formed and within the limits, without a value.
    ///
    /// - Throws: ``CBORError``.
    package func check(_ bytes: [UInt8]) throws {
        try unsafe bytes.withUnsafeBytes {
            let reader = unsafe try CBORReader(self, $0)
            try reader.scan()
        }
    }
}
