#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A type whose values can be keys outside this process: in Redis, on a disk.
///
/// There is no default form: a type without one does not compile as a key. With a default, all its keys could collide.
///
/// ```swift
/// struct ProductKey: KeyRepresentable {
///     var shop: String
///     var id: Int
///     var keyBytes: [UInt8] { KeyBytes.joining(shop, id) }
/// }
/// ```
public protocol KeyRepresentable: Hashable, Sendable {
    /// The bytes of the key. Equal keys have equal bytes and different keys different bytes, in every process and
    /// release.
    var keyBytes: [UInt8] { get }
}

extension String: KeyRepresentable {
    /// The text as UTF-8, in Unicode's normalization form C: texts that Swift calls equal are one key.
    public var keyBytes: [UInt8] {
        utf8.allSatisfy { $0 < 0x80 } ? Array(utf8) : NormalForm.composed(self)
    }
}

extension KeyRepresentable where Self: FixedWidthInteger {
    /// The number in decimal.
    public var keyBytes: [UInt8] { Array(String(self).utf8) }
}

extension Int: KeyRepresentable {}
extension Int8: KeyRepresentable {}
extension Int16: KeyRepresentable {}
extension Int32: KeyRepresentable {}
extension Int64: KeyRepresentable {}
extension UInt: KeyRepresentable {}
extension UInt8: KeyRepresentable {}
extension UInt16: KeyRepresentable {}
extension UInt32: KeyRepresentable {}
extension UInt64: KeyRepresentable {}

extension Array: KeyRepresentable where Element == UInt8 {
    /// The bytes themselves.
    public var keyBytes: [UInt8] { self }
}

extension UUID: KeyRepresentable {
    /// The text form in capital letters.
    public var keyBytes: [UInt8] { Array(uuidString.utf8) }
}

extension URL: KeyRepresentable {
    /// The absolute form as it was written: two spellings of one address are two keys.
    public var keyBytes: [UInt8] { Array(absoluteString.utf8) }
}

extension Data: KeyRepresentable {
    /// The bytes themselves.
    public var keyBytes: [UInt8] { Array(self) }
}

extension KeyRepresentable where Self: RawRepresentable, RawValue: KeyRepresentable {
    /// The bytes of the raw value.
    public var keyBytes: [UInt8] { rawValue.keyBytes }
}

/// Keys of several parts.
public enum KeyBytes {
    /// The parts joined by colons.
    ///
    /// A colon inside a part is escaped, so different parts never give the same bytes.
    public static func joining(_ first: any KeyRepresentable, _ others: any KeyRepresentable...) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, part) in ([first] + others).enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ":")) }
            PercentEncoding.append(part.keyBytes, to: &bytes) { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }
        }
        return bytes
    }
}
