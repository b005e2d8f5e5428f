/// Encodes `Codable` values as CBOR, the binary format of RFC 8949.
///
/// The output is deterministic (RFC 8949 §4.2.1): the shortest integers, the shortest floating-point numbers that keep
/// the value, definite lengths, and map keys in the bytewise order of their encoded form. Equal values become equal
/// bytes, save for types whose own order varies, such as `Set`.
///
/// ```swift
/// let bytes = try CBOREncoder().encode(product)
/// let copy = try CBORDecoder().decode(Product.self, from: bytes)
/// ```
///
/// How Swift types are mapped stands in `docs/cbor.md`. Whatever `JSONEncoder` takes is taken here; in addition `Float`
/// and `Double` may be infinite or NaN.
///
/// The type is a plain value: copying, sharing and creating one cost nothing.
public struct CBOREncoder: Sendable {
    /// How a `Date` is written.
    public enum DateFormat: Sendable {
        /// Seconds since 1970 in tag 1; dates that a floating-point number of these would not keep exactly as seconds
        /// and a decimal fraction in tag 1001 (RFC 9581).
        case epoch
        /// RFC 3339 text in UTC in tag 0, to the nanosecond. Only for the years 0 to 9999.
        case text
    }

    /// How a `Date` is written; ``DateFormat/epoch`` by default.
    public var dateFormat = DateFormat.epoch

    /// Whether `[UInt8]` is written as a byte string rather than as an array of numbers; `false` by default.
    ///
    /// A byte string takes one byte for each, an array up to two, and is much slower to write and read. ``CBORDecoder``
    /// reads both as `[UInt8]`.
    public var writesByteArraysAsByteStrings = false

    /// Whether coding keys with an integer value are written as integers rather than as text; `false` by default.
    ///
    /// For compact documents: `enum CodingKeys: Int, CodingKey`. ``CBORDecoder`` reads both. Keys of dictionaries by
    /// `Int`, and of dictionaries by `String` whose text is a number in its usual form, become integers too.
    public var usesIntegerKeys = false

    /// The greatest number of arrays, maps and tags around an item; 128 by default.
    ///
    /// Values outside 1...512 count as the nearer end. The limit also ends the encoding of an object that holds itself.
    public var depthLimit = 128

    /// What the values being encoded can see in their encoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates an encoder with the default options.
    public init() {}

    /// Encodes a value as one CBOR document.
    ///
    /// O(n) in the size of the output, and O(k log k) in the number of keys of each map.
    ///
    /// - Parameter value: The value.
    /// - Returns: The document.
    /// - Throws: `EncodingError` if the value is nested too deep, encodes nothing, uses a container out of turn, or
    ///   holds a date that has no text; and what the value's own `encode(to:)` throws. The encoder's errors name the
    ///   place but do not hold the value.
    public func encode(_ value: some Encodable) throws -> [UInt8] {
        let writer = try writer(of: value)
        defer { writer.end() }
        return writer.output.array()
    }

    /// Encodes a value behind the bytes of an array, for instance behind a header.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - bytes: The array that the document is appended to; unchanged if an error is thrown.
    /// - Throws: What ``encode(_:)`` throws.
    public func encode(_ value: some Encodable, appendingTo bytes: inout [UInt8]) throws {
        let writer = try writer(of: value)
        defer { writer.end() }
        writer.output.append(to: &bytes)
    }

    /// A writer that has written the one value of a document.
    private func writer(of value: some Encodable) throws -> CBORWriter {
        let writer = CBORWriter(self)
        if try writer.encodeKnown(value, level: 0) { return writer }
        let isFilled = try writer.encodeByItself(value, level: 0)
        if let failure = writer.failure { throw failure }
        guard isFilled else { throw writer.fault("The value did not encode anything.") }
        return writer
    }
}
