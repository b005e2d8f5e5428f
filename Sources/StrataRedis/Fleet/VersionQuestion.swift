package import Strata

/// A key of a question for versions.
package struct VersionQuestion: Sendable, Hashable {
    /// The user's key.
    package let key: [UInt8]
    /// What Redis holds; ``EntryVersion/none`` for nothing, and for what is no entry.
    package let version: EntryVersion

    /// How many keys a question may have.
    package static let mostKeys = 32
    /// Longer keys are not asked for.
    package static let longestKey = 512

    package init(_ key: [UInt8], _ version: EntryVersion) {
        self.key = key
        self.version = version
    }

    /// The stamp, the key's length in two bytes, and the key.
    var bytes: [UInt8] {
        version.bytes + [UInt8(truncatingIfNeeded: key.count), UInt8(truncatingIfNeeded: key.count >> 8)] + key
    }

    /// Reads some, one after the other; `nil` for other bytes, for none, and for too many.
    static func read(_ bytes: some Collection<UInt8>) -> [VersionQuestion]? {
        guard bytes.count <= mostKeys * (18 + longestKey) else { return nil }
        var keys: [VersionQuestion] = []
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            guard keys.count < mostKeys, rest.count >= 18, let version = EntryVersion(bytes: Array(rest.prefix(16)))
            else { return nil }
            rest = rest.dropFirst(16)
            let length = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
            rest = rest.dropFirst(2)
            guard length <= longestKey, length <= rest.count else { return nil }
            keys.append(VersionQuestion(Array(rest.prefix(length)), version))
            rest = rest.dropFirst(length)
        }
        return keys.isEmpty ? nil : keys
    }
}
