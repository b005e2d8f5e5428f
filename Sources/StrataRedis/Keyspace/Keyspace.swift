internal import Strata

/// A part of a Redis database that belongs to one cache: its name stands in every key.
///
/// | key | holds |
/// |---|---|
/// | `<prefix>:<name>:v:{k}` | the envelope of the user's key `k` |
/// | `<prefix>:<name>:l:{k}` | the lease of the instance that fetches it |
/// | `<prefix>:<name>:t:marks` | the numbers of invalidations by tag and by clear |
/// | channel `<prefix>:<name>:ev` | what keys cannot tell |
///
/// In a cluster there are sixteen marks, `<prefix>:<name>:t:marks:{n}`, and channels `<prefix>:<name>:ev:n`, one for
/// each sixteenth of the slots.
///
/// The braces put value and lease into one slot of a cluster, so that one script can change both. User keys are
/// percent-encoded (`%`, `{`, `}` and control bytes), which is injective and leaves ordinary keys readable. An empty
/// key, and one of more than 512 bytes in that form, becomes `%#` and its SHA-256; no encoded key begins like that.
public struct Keyspace: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name of the cache.
    public let name: String
    /// The text before the name; `strata` by default.
    public let prefix: String

    let values: [UInt8]
    let leases: [UInt8]
    let events: [UInt8]
    /// The beginning of the names that tags need.
    let tags: [UInt8]
    /// The name of the marks.
    let marks: [UInt8]

    /// Encoded keys longer than this are hashed.
    static let longestKey = 512

    /// A keyspace.
    ///
    /// Any text is allowed. It is brought into Unicode's normalization form C, and ambiguous bytes are percent-encoded.
    ///
    /// - Parameters:
    ///   - name: The name of the cache, the same in all instances that share it.
    ///   - prefix: Separates applications that share a database. Applications that share a server but not a database
    ///     need none, but each hears of the other's changes to keys of the same name, and asks Redis once more.
    public init(_ name: String, prefix: String = "strata") {
        self.name = name
        self.prefix = prefix
        let base = Self.component(prefix) + [UInt8(ascii: ":")] + Self.component(name) + [UInt8(ascii: ":")]
        values = base + Array("v:".utf8)
        leases = base + Array("l:".utf8)
        events = base + Array("ev".utf8)
        tags = base + Array("t:".utf8)
        marks = tags + Array("marks".utf8)
    }

    /// A keyspace under the default prefix.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// `<prefix>:<name>`, as it stands in the keys.
    public var description: String {
        String(decoding: Self.component(prefix) + [UInt8(ascii: ":")] + Self.component(name), as: UTF8.self)
    }

    /// The names of a user's key in Redis.
    func names(for key: [UInt8]) -> KeyNames {
        let value = valueName(of: key)
        return KeyNames(value: RedisKey(value), lease: RedisKey(leases + value[values.count...]))
    }

    /// The name of the value of a user's key in Redis.
    func valueName(of key: [UInt8]) -> [UInt8] {
        var name: [UInt8] = []
        name.reserveCapacity(values.count + key.count + 2)
        name += values
        name.append(UInt8(ascii: "{"))
        let start = name.count
        Self.append(userKey: key, to: &name)
        if key.isEmpty || name.count - start > Self.longestKey {
            name.replaceSubrange(start..., with: Self.hashed(key))
        }
        name.append(UInt8(ascii: "}"))
        return name
    }

    /// Appends a user's key in the form between the braces.
    static func append(userKey: [UInt8], to target: inout [UInt8]) {
        PercentEncoding.append(userKey, to: &target) {
            $0 < 0x20 || $0 == 0x7f || $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}")
        }
    }

    /// The mark before the hash of a key: no encoded key begins like that.
    static let hashMark = Array("%#".utf8)

    private static let hexadecimal = Array("0123456789abcdef".utf8)

    /// Whether this is the hash of a key as it stands in a name.
    static func isHash(_ text: some Collection<UInt8>) -> Bool {
        text.count == 64 && text.allSatisfy { hexadecimal.contains($0) }
    }

    private static func hashed(_ key: [UInt8]) -> [UInt8] {
        let digits = SHA256.hash(key).flatMap { [hexadecimal[Int($0 >> 4)], hexadecimal[Int($0 & 15)]] }
        return hashMark + digits
    }

    static func component(_ text: String) -> [UInt8] {
        var encoded: [UInt8] = []
        PercentEncoding.append(text.keyBytes, to: &encoded) {
            $0 < 0x20 || $0 == 0x7f || "%{}:".utf8.contains($0)
        }
        return encoded
    }
}

/// The names of one key in Redis.
struct KeyNames: Sendable, Hashable {
    /// The name of the value.
    let value: RedisKey
    /// The name of the lease.
    let lease: RedisKey
    /// The part of its keyspace; `nil` if that has none.
    var part: KeyspacePart?

    /// The number by which envelopes know the key.
    var keyHash: UInt64 { Self.fingerprint(of: value.bytes) }

    /// The key's number in gates.
    var fingerprint: UInt64 { Self.fingerprint(of: value.bytes, in: part) }

    /// The number of the value with this name in gates and envelopes.
    static func fingerprint(of name: [UInt8]) -> UInt64 { XXH64.hash(name) }

    /// The number by which gates know the value: the hash of the name, with the part in its lowest bits.
    static func fingerprint(of name: [UInt8], in part: KeyspacePart?) -> UInt64 {
        guard let part else { return fingerprint(of: name) }
        return fingerprint(of: name) & ~UInt64(2 * KeyspacePart.count - 1) | UInt64(part.number)
    }
}
