#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A key that can be made from the bytes that it has outside this process.
private protocol KeyReadable: KeyRepresentable {
    /// Whether there is a way back from bytes for all parts of the key.
    static var hasWayBack: Bool { get }

    init?(readingKeyBytes bytes: [UInt8])
}

extension KeyReadable {
    fileprivate static var hasWayBack: Bool { true }
}

extension String: KeyReadable {
    fileprivate init?(readingKeyBytes bytes: [UInt8]) { self.init(validating: bytes, as: UTF8.self) }
}

extension KeyReadable where Self: FixedWidthInteger {
    fileprivate init?(readingKeyBytes bytes: [UInt8]) { self.init(String(decoding: bytes, as: UTF8.self), radix: 10) }
}

extension Int: KeyReadable {}
extension Int8: KeyReadable {}
extension Int16: KeyReadable {}
extension Int32: KeyReadable {}
extension Int64: KeyReadable {}
extension UInt: KeyReadable {}
extension UInt8: KeyReadable {}
extension UInt16: KeyReadable {}
extension UInt32: KeyReadable {}
extension UInt64: KeyReadable {}

extension Array: KeyReadable where Element == UInt8 {
    fileprivate init?(readingKeyBytes bytes: [UInt8]) { self = bytes }
}

extension Data: KeyReadable {
    fileprivate init?(readingKeyBytes bytes: [UInt8]) { self.init(bytes) }
}

extension UUID: KeyReadable {
    fileprivate init?(readingKeyBytes bytes: [UInt8]) { self.init(uuidString: String(decoding: bytes, as: UTF8.self)) }
}

extension URL: KeyReadable {
    fileprivate init?(readingKeyBytes bytes: [UInt8]) { self.init(string: String(decoding: bytes, as: UTF8.self)) }
}

extension KeyPair: KeyReadable {
    fileprivate static var hasWayBack: Bool { First.isReadable && Second.isReadable }

    fileprivate init?(readingKeyBytes bytes: [UInt8]) {
        // A colon inside a part is escaped, so there is one.
        let parts = bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = PercentEncoding.decode(parts[0]).flatMap({ First.reading($0) }),
            let second = PercentEncoding.decode(parts[1]).flatMap({ Second.reading($0) })
        else { return nil }
        self.init(first, second)
    }
}

extension KeyRepresentable {
    /// Whether ``reading(_:)`` can make keys of this type.
    package static var isReadable: Bool {
        if let type = Self.self as? any KeyReadable.Type { return type.hasWayBack }
        return rawReader != nil
    }

    /// The key with these bytes; `nil` when there is none, or no way back from bytes to this type.
    ///
    /// There is a way for the types that have a form of their own here, and for those with such a raw value.
    package static func reading(_ bytes: [UInt8]) -> Self? {
        let key: Self?
        if let type = Self.self as? any KeyReadable.Type {
            key = type.init(readingKeyBytes: bytes) as? Self
        } else {
            key = rawReader?(bytes)
        }
        // A type may have another form than that of its raw value.
        return key?.keyBytes == bytes ? key : nil
    }

    private static var rawReader: (([UInt8]) -> Self?)? {
        func reader<Raw: RawRepresentable>(_ type: Raw.Type) -> (([UInt8]) -> Self?)? {
            guard let value = Raw.RawValue.self as? any KeyReadable.Type, value.hasWayBack else { return nil }
            return { bytes in
                (value.init(readingKeyBytes: bytes) as? Raw.RawValue).flatMap { type.init(rawValue: $0) as? Self }
            }
        }
        guard let type = Self.self as? any RawRepresentable.Type else { return nil }
        return reader(type)
    }
}
