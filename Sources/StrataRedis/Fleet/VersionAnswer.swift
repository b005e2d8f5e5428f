package import Strata

/// Which versions an instance's memory holds, and what the instance has heard of changes, as CBOR.
package struct VersionAnswer: Codable, Sendable, Hashable {
    /// What memory holds of a key.
    package struct Key: Codable, Sendable, Hashable {
        /// The raw value of a ``KeyFinding/State``; one of a later release may be another.
        package var state: String
        /// The stamp in hexadecimal; `nil` if it is not known.
        package var version: String?
        /// Milliseconds since the entry came into memory, at the least.
        package var age: Int?
        /// Whether it was read while the link was down, and is kept for a short time for that reason.
        package var timed: Bool?
        /// How many milliseconds ago the instance heard of changes of the key; `nil` if that was not asked for.
        package var heard: [Int]?
    }

    package static let form = 1

    package var form = Self.form
    /// In the order of the question.
    package var keys: [Key]
    /// Whether the instance wants to be told of changes.
    package var told: Bool
    /// Why it is not told at the moment.
    package var link: String?
    /// Of how many milliseconds the instance remembers what it has heard of keys.
    package var reach: Int
    /// How many milliseconds ago it began to be told last, was last told no more, and last heard of tags and of a
    /// clear.
    package var listening: Int?
    package var untrusted: Int?
    package var tags: Int?
    package var everything: Int?

    private static let codec = Codec<Self>.cbor

    /// Reads bytes that any user of the server may have written; `nil` when they are no answer to the question.
    package init?(_ bytes: [UInt8], to question: [VersionQuestion]) {
        guard bytes.count <= InstanceRecord.longest, let answer = try? Self.codec.decode(bytes),
            answer.form == Self.form, answer.keys.count == question.count
        else { return nil }
        self = answer
    }

    init(_ keys: [Key], _ trail: ChangeTrail, isTold: Bool, link: String?, at now: MonotonicInstant) {
        func ago(_ instant: MonotonicInstant?) -> Int? { instant.map { Int($0.nanoseconds(to: now) / 1_000_000) } }
        self.keys = keys
        told = isTold
        self.link = link.map { String(decoding: $0.utf8.prefix(200), as: UTF8.self) }
        reach = Int(trail.begin.nanoseconds(to: now) / 1_000_000)
        listening = ago(trail.listening)
        untrusted = ago(trail.untrusted)
        tags = ago(trail.tags)
        everything = ago(trail.everything)
    }

    /// The answer as it is written.
    var bytes: [UInt8] { (try? Self.codec.encode(self)) ?? [] }
}

extension VersionAnswer.Key {
    init(_ found: MemoryFinding, heard: [Int]?) {
        state = found.finding.state
        let isServed = state == KeyFinding.State.fresh.rawValue || state == KeyFinding.State.stale.rawValue
        version = isServed && found.version != .none ? Hexadecimal.text(of: found.version) : nil
        age = isServed ? Int(found.leastAge.saturatedNanoseconds / 1_000_000) : nil
        timed = found.isTimed ? true : nil
        self.heard = heard
    }

    /// The stamp; `nil` if it is not known, or makes no sense.
    package var stamp: EntryVersion? { version.flatMap { Hexadecimal.version($0) } }
}

/// Stamps as text.
private enum Hexadecimal {
    static func text(of version: EntryVersion) -> String {
        [version.high, version.low]
            .map { half in
                let digits = String(half, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }
            .joined()
    }

    static func version(_ text: String) -> EntryVersion? {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }),
            let high = UInt64(text.prefix(16), radix: 16), let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        let version = EntryVersion(high: high, low: low)
        return version == .none ? nil : version
    }
}
