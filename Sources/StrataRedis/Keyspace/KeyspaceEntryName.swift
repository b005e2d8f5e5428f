internal import Strata

/// The parts of a key's name in Redis: prefix, keyspace, kind and user key.
///
/// For tools that look at a whole database.
public struct KeyspaceEntryName: Sendable, Hashable {
    /// What a key is for.
    public enum Kind: Sendable, Hashable {
        /// It holds an envelope.
        case value
        /// It holds a lease.
        case lease
    }

    /// The keyspace that the key belongs to.
    public let keyspace: Keyspace
    /// What the key is for.
    public let kind: Kind
    /// The user's key; `nil` when only its hash is kept.
    public let userKey: [UInt8]?

    /// Takes a key apart; `nil` when the key does not have the form of a keyspace's keys.
    public init?(_ key: RedisKey) {
        let parts = key.bytes.split(separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[3].first == UInt8(ascii: "{"), parts[3].last == UInt8(ascii: "}"),
            parts[3].count >= 3,
            let prefix = PercentEncoding.decode(parts[0]).flatMap({ String(validating: $0, as: UTF8.self) }),
            let name = PercentEncoding.decode(parts[1]).flatMap({ String(validating: $0, as: UTF8.self) })
        else { return nil }
        switch Array(parts[2]) {
        case Array("v".utf8): kind = .value
        case Array("l".utf8): kind = .lease
        default: return nil
        }
        keyspace = Keyspace(name, prefix: prefix)
        let encoded = parts[3].dropFirst().dropLast()
        if encoded.starts(with: Keyspace.hashMark) {
            guard Keyspace.isHash(encoded.dropFirst(Keyspace.hashMark.count)),
                key.bytes.starts(with: kind == .value ? keyspace.values : keyspace.leases)
            else { return nil }
            userKey = nil
        } else {
            guard let decoded = PercentEncoding.decode(encoded) else { return nil }
            // A name in another form than a keyspace writes belongs to no key: the user key would be found elsewhere.
            let names = keyspace.names(for: decoded)
            guard key == (kind == .value ? names.value : names.lease) else { return nil }
            userKey = decoded
        }
    }
}
