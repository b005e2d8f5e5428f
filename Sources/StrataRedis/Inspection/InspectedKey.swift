internal import Strata

/// A key of a keyspace as a tool finds it: by the user's key, or only by its name in Redis.
package struct InspectedKey: Sendable, Hashable {
    /// The form of a name in Redis.
    package enum Form: Sendable, Hashable {
        /// It spells the user's key.
        case spelled
        /// The user's key is empty or long, and the name holds its hash.
        case hashed
        /// No keyspace makes such a name. A level never reads it, and a clear removes it all the same.
        case irregular
    }

    /// The user's key; `nil` when only its hash is known, or the name is irregular.
    package let userKey: [UInt8]?
    /// The form of the name.
    package let form: Form
    let names: KeyNames

    /// The name of the value in Redis.
    package var name: RedisKey { names.value }
    /// The name of the lease in Redis.
    package var leaseName: RedisKey { names.lease }

    /// The key of a user.
    ///
    /// No round trip; whether it exists is another question.
    package init(_ userKey: [UInt8], in keyspace: Keyspace) {
        self.userKey = userKey
        names = keyspace.names(for: userKey)
        form = names.value.bytes.dropFirst(keyspace.values.count + 1).starts(with: Self.hashMark) ? .hashed : .spelled
    }

    /// The key whose value or lease has this name; `nil` when the name is not one of the keyspace's.
    package init?(name: RedisKey, in keyspace: Keyspace) {
        let start =
            [keyspace.values, keyspace.leases].first { name.bytes.starts(with: $0) }
        guard let start else { return nil }
        let suffix = Array(name.bytes.dropFirst(start.count))
        names = KeyNames(value: RedisKey(keyspace.values + suffix), lease: RedisKey(keyspace.leases + suffix))
        let inner = suffix.dropFirst().dropLast()
        if Self.isHashed(suffix) {
            userKey = nil
            form = .hashed
        } else if let key = PercentEncoding.decode(inner), keyspace.names(for: key) == names {
            userKey = key
            form = .spelled
        } else {
            userKey = nil
            form = .irregular
        }
    }

    private static let hashMark = Array("%#".utf8)

    private static func isHashed(_ suffix: [UInt8]) -> Bool {
        guard suffix.starts(with: "{%#".utf8), suffix.last == UInt8(ascii: "}") else { return false }
        let digits = suffix.dropFirst(3).dropLast()
        return digits.count == 64 && digits.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }
}

extension InspectedKey {
    /// The key in one line that a terminal can show and ``init(escaped:in:)`` reads back.
    ///
    /// It is the user's key escaped by ``PrintableText``, or `\#` and the hash, or `\=` and the escaped name. No
    /// escaped key begins like the latter two.
    package var escaped: String {
        if let userKey { return PrintableText.escape(userKey) }
        guard form == .hashed else { return "\\=" + PrintableText.escape(name.bytes) }
        let digits = name.bytes.suffix(65).dropLast()
        return "\\#" + String(decoding: digits, as: UTF8.self)
    }

    /// Reads what ``escaped`` gives; `nil` when it is malformed or names a key outside the keyspace.
    package init?(escaped text: String, in keyspace: Keyspace) {
        if text.utf8.starts(with: "\\#".utf8) {
            let suffix = Array("{%#".utf8) + Array(text.utf8.dropFirst(2)) + [UInt8(ascii: "}")]
            guard Self.isHashed(suffix) else { return nil }
            self.init(name: RedisKey(keyspace.values + suffix), in: keyspace)
        } else if text.utf8.starts(with: "\\=".utf8) {
            guard let name = PrintableText.unescape(String(text.unicodeScalars.dropFirst(2))) else { return nil }
            self.init(name: RedisKey(name), in: keyspace)
        } else {
            guard let userKey = PrintableText.unescape(text) else { return nil }
            self.init(userKey, in: keyspace)
        }
    }
}
