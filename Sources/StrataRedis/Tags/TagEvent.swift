internal import Strata

/// A message between instances about an invalidation in a keyspace; docs/internals/wire-format.md has its form.
///
/// The number before its own shows a receiver that it missed a message.
struct TagEvent: Sendable, Hashable {
    enum Scope: Sendable, Hashable {
        case everything
        case tags([TagName])
        /// More tags than a message holds.
        case unknownTags
    }

    var before: InvalidationNumber
    var number: InvalidationNumber
    var scope: Scope

    /// Above this many bytes a message leaves the tags out.
    static let longestPayload = 16 << 10

    /// The tags in a message.
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

    /// Whether a message of the channel begins like one of these.
    static func isMeant(by message: [UInt8]) -> Bool {
        message.first == UInt8(ascii: "t") || message.first == UInt8(ascii: "c")
    }

    /// Reads a message; `nil` for other bytes, which any user who may publish can send.
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
        } else if parts[2].isEmpty || parts[2].count > Self.longestPayload {
            // No instance sends more; millions of tags would be read on the I/O thread.
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
