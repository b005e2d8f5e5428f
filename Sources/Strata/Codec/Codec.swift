/// How values become bytes and come back.
public struct Codec<Value: Sendable>: Sendable {
    /// The number by which an envelope names the codec.
    ///
    /// Numbers below 128 are Strata's.
    public let identifier: UInt8
    private let encodeValue: @Sendable (Value) throws -> [UInt8]
    private let decodeBytes: @Sendable ([UInt8]) throws -> Value

    /// A codec of two closures.
    ///
    /// - Parameters:
    ///   - identifier: Written beside the bytes; bytes under another number are never given to `decode`.
    ///   - encode: Turns a value into bytes.
    ///   - decode: Turns the bytes back; called with whatever was stored, also by older releases of a service.
    public init(
        identifier: UInt8,
        encode: @escaping @Sendable (Value) throws -> [UInt8],
        decode: @escaping @Sendable ([UInt8]) throws -> Value
    ) {
        self.identifier = identifier
        encodeValue = encode
        decodeBytes = decode
    }

    /// The bytes of a value.
    ///
    /// - Throws: ``CacheError/Code/codec`` with the codec's own error as its cause.
    public func encode(_ value: Value) throws -> [UInt8] {
        do {
            return try encodeValue(value)
        } catch {
            throw CacheError(code: .codec, message: "a value cannot be encoded", causes: [error])
        }
    }

    /// The value of bytes.
    ///
    /// - Throws: ``CacheError/Code/codec`` with the codec's own error as its cause.
    public func decode(_ bytes: [UInt8]) throws -> Value {
        do {
            return try decodeBytes(bytes)
        } catch {
            throw CacheError(code: .codec, message: "stored bytes cannot be decoded", causes: [error])
        }
    }
}

extension Codec where Value == [UInt8] {
    /// Bytes as they are.
    public static var bytes: Codec { Codec(identifier: 1, encode: { $0 }, decode: { $0 }) }
}

extension Codec where Value == String {
    /// Text as UTF-8.
    ///
    /// Bytes that are no UTF-8 are an error.
    public static var text: Codec {
        Codec(identifier: 2, encode: { Array($0.utf8) }) { bytes in
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw CacheError(code: .codec, message: "the bytes are no UTF-8")
            }
            return text
        }
    }
}
