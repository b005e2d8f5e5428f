/// How many records an eviction covers.
public enum ProviderScope: Sendable, Hashable, CaseIterable {
    /// The one record that the provider's key names.
    case record
    /// All records of the provider's key: those of each group, and the one without a group.
    case key
    /// All records of the provider's name.
    case provider
}

extension CacheProvider {
    /// The tag that all records of a scope bear; `nil` for one record alone.
    ///
    /// - Throws: ``CacheError/Code/invalidScope``.
    func tag(of scope: ProviderScope) throws(CacheError) -> String? {
        switch scope {
        case .record: return nil
        case .key:
            guard let first = key.parts.first else {
                throw CacheError(code: .invalidScope, message: "the provider has one record and no key to evict by")
            }
            return Self.tag([name.keyBytes, first])
        case .provider: return Self.tag([name.keyBytes])
        }
    }

    /// The tags of a record: those of its scopes, and those of its own.
    var allTags: [String] {
        let scopes = key.parts.isEmpty ? [[name.keyBytes]] : [[name.keyBytes], [name.keyBytes, key.parts[0]]]
        return scopes.map { Self.tag($0) } + tags
    }

    /// Keys may be any bytes, and of any length; a tag is a text of a limited one.
    private static func tag(_ parts: [[UInt8]]) -> String {
        let bytes = ProviderRecord.Key.joined(parts)
        guard bytes.count <= 512, let text = String(validating: bytes, as: UTF8.self) else {
            return "provider#" + String(decoding: SHA256.hexadecimal(bytes), as: UTF8.self)
        }
        return "provider:" + text
    }
}
