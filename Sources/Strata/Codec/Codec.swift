/// How values become bytes and come back.
///
/// Compression and protection follow the encoding, in this order, each at most once.
///
/// ```swift
/// let codec = Codec<Product>.cbor.compressed().encrypted(with: keys)
/// let products = RedisLevel<Int, Product>(redis, keyspace: "products", codec: codec)
/// ```
///
/// A level that keeps the bytes notes beside them how they were made: codec, compression, protection and ``schema``.
/// Bytes that were made in another way are never given to the codec; they are a miss.
public struct Codec<Value: Sendable>: Sendable {
    /// The number by which an envelope names the codec.
    ///
    /// Numbers below 128 are Strata's.
    public let identifier: UInt8
    private let encodeValue: @Sendable (Value) throws -> [UInt8]
    private let decodeBytes: @Sendable ([UInt8]) throws -> Value
    /// The compression; `nil` for none.
    public internal(set) var compression: ByteStage?
    /// The encryption or signature; `nil` for none.
    public internal(set) var protection: ByteStage?
    /// The number of the stored form: that of a ``SchemaVersioned`` type, otherwise 0.
    public internal(set) var schema: UInt32
    /// Makes values from bytes with older schema numbers.
    var migration: (@Sendable (OlderValue) throws -> Value?)?

    /// A codec of two closures.
    ///
    /// - Parameters:
    ///   - identifier: Written beside the bytes; bytes under another number are never given to `decode`.
    ///   - encode: Turns a value into bytes.
    ///   - decode: Turns the bytes back; called with any stored bytes, including those of older releases of a service.
    public init(
        identifier: UInt8,
        encode: @escaping @Sendable (Value) throws -> [UInt8],
        decode: @escaping @Sendable ([UInt8]) throws -> Value
    ) {
        self.identifier = identifier
        encodeValue = encode
        decodeBytes = decode
        schema = (Value.self as? any SchemaVersioned.Type)?.schemaVersion ?? 0
    }

    /// The bytes of a value, compressed and protected.
    ///
    /// - Throws: ``CacheError/Code/codec`` with the codec's own error as its cause.
    public func encode(_ value: Value) throws -> [UInt8] {
        try encode(value, context: [])
    }

    /// The value of bytes from ``encode(_:)``.
    ///
    /// - Throws: ``CacheError/Code/codec`` with the codec's own error as its cause.
    public func decode(_ bytes: [UInt8]) throws -> Value { try decode(bytes, context: []) }

    func decode(_ bytes: [UInt8], context: [UInt8]) throws -> Value {
        do {
            return try decodeBytes(undone(bytes, isCompressed: compression != nil, context: context))
        } catch {
            throw CacheError(code: .codec, message: "stored bytes cannot be decoded", causes: [error])
        }
    }

    func encode(_ value: Value, context: [UInt8]) throws -> [UInt8] {
        do {
            var bytes = try encodeValue(value)
            if let compression { bytes = try compression.apply(bytes, context) }
            if let protection { bytes = try protection.apply(bytes, context) }
            return bytes
        } catch {
            throw CacheError(code: .codec, message: "a value cannot be encoded", causes: [error])
        }
    }

    /// The bytes of the codec alone.
    func undone(_ bytes: [UInt8], isCompressed: Bool, context: [UInt8]) throws -> [UInt8] {
        var bytes = bytes
        if let protection { bytes = try protection.undo(bytes, context) }
        if isCompressed, let compression { bytes = try compression.undo(bytes, context) }
        return bytes
    }

    func decodeAlone(_ bytes: [UInt8]) throws -> Value { try decodeBytes(bytes) }
}

extension Codec where Value == [UInt8] {
    /// Bytes as they are.
    public static var bytes: Codec { Codec(identifier: 1, encode: { $0 }, decode: { $0 }) }
}

extension Codec where Value == String {
    /// Text as UTF-8.
    ///
    /// Bytes that are not UTF-8 are an error.
    public static var text: Codec {
        Codec(identifier: 2, encode: { Array($0.utf8) }) { bytes in
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw CacheError(code: .codec, message: "the bytes are not UTF-8")
            }
            return text
        }
    }
}
