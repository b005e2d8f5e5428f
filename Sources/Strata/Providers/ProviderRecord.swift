/// The form in which a ``ProviderCache`` keeps one record: its bytes, and the value once it was read.
///
/// Levels below memory keep the bytes: the schema number in four bytes, high byte first; the numbers of the codec, the
/// compression and the protection in one each; and what these made of the value. A protection is bound to the record's
/// key and to the numbers. In memory a record also holds its value, so that a hit decodes nothing.
public final class ProviderRecord: Sendable {
    /// Why a record cannot be used.
    enum Unreadable: Error {
        /// A later release has written it, and it stays for that release.
        case newer
        /// An older release has written it, or a provider of another type.
        case other
    }

    /// The tag of records that no sweep of a file drops before their end.
    package static let keptTag = "provider#kept"

    let bytes: [UInt8]
    /// The value, in the form of a schema number.
    private let value: Locked<(value: any Sendable, schema: UInt32)?>

    /// A record of bytes that were read.
    init(bytes: [UInt8]) {
        self.bytes = bytes
        value = Locked(nil)
    }

    /// A record of a value.
    ///
    /// - Throws: ``CacheError/Code/codec``.
    init<Provider: CacheProvider>(_ value: Provider.Value, of provider: Provider) throws {
        let sealed = try Self.codec(of: provider).seal(value, at: Key(provider).keyBytes)
        let schema = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sealed.schema >> $0) }
        bytes = schema + [sealed.codec, sealed.compression, sealed.protection] + sealed.bytes
        self.value = Locked((value, sealed.schema))
    }

    private static func codec<Provider: CacheProvider>(of provider: Provider) -> Codec<Provider.Value> {
        Provider.codec.schema(provider.schema)
    }

    /// The number of the stored form; `nil` for bytes that are no record.
    var schema: UInt32? { bytes.count < 7 ? nil : bytes[..<4].reduce(0) { $0 << 8 | UInt32($1) } }

    /// The value; decoded, and migrated from an older schema number, when it is first asked for.
    func value<Provider: CacheProvider>(for provider: Provider) throws(Unreadable) -> Provider.Value {
        guard let schema else { throw .other }
        guard schema <= provider.schema else { throw .newer }
        // In two steps: where the value's type is an optional, the cast would make a value of `nil`.
        if let kept = value.withLock({ $0 }), kept.schema == provider.schema, let value = kept.value as? Provider.Value
        {
            return value
        }
        let sealed = EncodedValue(
            bytes: Array(bytes[7...]),
            codec: bytes[4],
            compression: bytes[5],
            protection: bytes[6],
            schema: schema
        )
        guard let decoded = try? Self.codec(of: provider).open(sealed, at: Key(provider).keyBytes) else { throw .other }
        value.withLock { $0 = (decoded, provider.schema) }
        return decoded
    }
}

extension ProviderRecord {
    /// The key of a record in a level: the provider's name, and the key and group of the record.
    public struct Key: KeyRepresentable {
        /// The parts with colons between them.
        ///
        /// A colon inside a part is escaped, so no two keys are alike.
        public let keyBytes: [UInt8]

        /// A key that was found in a level.
        package init(keyBytes: [UInt8]) { self.keyBytes = keyBytes }

        package init(_ provider: some CacheProvider) {
            keyBytes = Self.joined([provider.name.keyBytes] + provider.key.parts)
        }

        static func joined(_ parts: [[UInt8]]) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(parts.reduce(parts.count) { $0 + $1.count })
            for (index, part) in parts.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ":")) }
                PercentEncoding.append(part, to: &bytes) { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }
            }
            return bytes
        }
    }
}

extension ProviderRecord.Key: CustomStringConvertible {
    /// The bytes as a text; those that are not UTF-8 are replaced.
    public var description: String { String(decoding: keyBytes, as: UTF8.self) }
}

extension ProviderRecord: Costed {
    /// The length of the bytes.
    public var cost: Int { bytes.count }
}

extension Codec<ProviderRecord> {
    /// The bytes that the codec of a provider has made, as they are.
    public static var records: Codec {
        Codec(identifier: 1, encode: { $0.bytes }, decode: { ProviderRecord(bytes: $0) })
    }
}
