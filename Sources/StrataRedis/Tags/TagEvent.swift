internal import Strata

/// What instances tell each other of a keyspace's invalidations: a letter, the number before, the number, and the tags.
///
/// `t<before>:<number>:` and the tags' names, each behind its length in two bytes; without a tag it was too many to be told.
/// `c<before>:<number>:` for a clear. The number before shows when a message is missing.
struct TagEvent: Sendable, Hashable {
    enum Scope: Sendable, Hashable {
        case everything
        case tags([TagName])
        /// More than a message holds.
        case unknownTags
    }

    var before: InvalidationNumber
    var number: InvalidationNumber
    var scope: Scope

    /// Above this many bytes the tags are not told.
    static let longestPayload = 16 << 10

    /// How tags are told.
    static func payload(of names: [TagName]) -> [UInt8] {
        var payload: [UInt8] = []
        for name in names {
            payload.append(UInt8(truncatingIfNeeded: name.bytes.count))
            payload.append(UInt8(truncatingIfNeeded: name.bytes.count >> 8))
            payload += name.bytes
            if payload.count > longestPayload { return [] }
        }
        return payload
    }

    /// Whether a message of the keyspace's channel is meant to be one of these.
    static func isMeant(by message: [UInt8]) -> Bool {
        message.first == UInt8(ascii: "t") || message.first == UInt8(ascii: "c")
    }

    /// Reads a message; `nil` when it is none: anybody who may publish can say anything.
    init?(_ message: [UInt8]) {
        let parts = message.dropFirst()
            .split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard Self.isMeant(by: message), parts.count == 3,
            let before = TagMarks.number(parts[0]), let number = TagMarks.number(parts[1]), before < number
        else { return nil }
        self.before = before
        self.number = number
        if message.first == UInt8(ascii: "c") {
            scope = .everything
        } else if parts[2].isEmpty {
            scope = .unknownTags
        } else {
            guard let names = Self.names(parts[2]) else { return nil }
            scope = .tags(names)
        }
    }

    private static func names(_ payload: ArraySlice<UInt8>) -> [TagName]? {
        var names: [TagName] = []
        var rest = payload
        while !rest.isEmpty {
            guard rest.count >= 2 else { return nil }
            let length = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
            rest = rest.dropFirst(2)
            guard rest.count >= length, let name = TagName(bytes: rest.prefix(length)) else { return nil }
            names.append(name)
            rest = rest.dropFirst(length)
        }
        return names
    }
}
