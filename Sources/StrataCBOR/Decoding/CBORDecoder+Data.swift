#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension CBORDecoder {
    /// Decodes a value from a document in the type of Foundation, without a copy of it.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - data: The document, and nothing behind it.
    /// - Returns: The value.
    /// - Throws: What ``decode(_:from:)-(_,[UInt8])`` throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try unsafe data.withUnsafeBytes { unsafe try decode(type, from: $0) }
    }
}
