internal import Strata

/// The wish that one instance reads keys through its cache, so that they are there for all.
package struct WarmQuestion: Sendable, Hashable {
    /// The number of the instance that is asked; the others leave it alone.
    let instance: QuestionNumber
    /// The users' keys.
    package let keys: [[UInt8]]

    /// How many keys a question may have.
    package static let mostKeys = 32
    /// Longer keys are not asked for.
    package static let longestKey = 512

    /// The instance, and each key behind its length in two bytes.
    var bytes: [UInt8] {
        Array(instance.text.utf8)
            + keys.flatMap { [UInt8(truncatingIfNeeded: $0.count), UInt8(truncatingIfNeeded: $0.count >> 8)] + $0 }
    }

    init(_ instance: QuestionNumber, _ keys: [[UInt8]]) {
        self.instance = instance
        self.keys = keys
    }

    /// Reads a question; `nil` for other bytes, for no keys, and for too many.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count <= QuestionNumber.length + Self.mostKeys * (2 + Self.longestKey),
            let instance = QuestionNumber(bytes.prefix(QuestionNumber.length))
        else { return nil }
        var keys: [[UInt8]] = []
        var rest = bytes.dropFirst(QuestionNumber.length)
        while !rest.isEmpty {
            guard keys.count < Self.mostKeys, rest.count >= 2 else { return nil }
            let length = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
            rest = rest.dropFirst(2)
            guard length <= Self.longestKey, length <= rest.count else { return nil }
            keys.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        guard !keys.isEmpty else { return nil }
        self.init(instance, keys)
    }
}

/// The outcome of reading keys, as CBOR; docs/internals/wire-format.md has its form.
package struct WarmAnswer: Codable, Sendable, Hashable {
    /// The outcome of one key.
    ///
    /// One of a later release may be another.
    package enum Outcome: String, Sendable, CaseIterable {
        /// The source was asked, and its value kept as the policy says.
        case fetched
        /// A level had it.
        case found
        /// There is no value.
        case absent
        /// The read has failed.
        case failed
        /// The instance reads other keys at the moment, and has not read this one.
        case busy
        /// The instance reads no keys that it is asked for.
        case refused
        /// The instance cannot make keys of its type of these bytes.
        case unreadable
        /// The cache has no source of its own: calls bring theirs.
        case sourceless
    }

    package static let form = 1

    package var form = Self.form
    /// The raw values of outcomes, in the order of the question.
    package var keys: [String]

    private static let codec = Codec<Self>.cbor

    init(_ outcomes: [Outcome]) {
        keys = outcomes.map(\.rawValue)
    }

    /// Reads bytes that any user of the server may have written; `nil` when they are no answer for so many keys.
    package init?(_ bytes: [UInt8], keys count: Int) {
        guard bytes.count <= InstanceRecord.longest, let answer = try? Self.codec.decode(bytes),
            answer.form == Self.form, answer.keys.count == count
        else { return nil }
        self = answer
    }

    /// The outcomes; `nil` for one that this release does not know.
    package var outcomes: [Outcome?] { keys.map { Outcome(rawValue: $0) } }

    /// The answer as it is written.
    var bytes: [UInt8] { (try? Self.codec.encode(self)) ?? [] }
}
