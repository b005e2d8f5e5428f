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

    /// How the name begins that tells the database: no tag's text has this byte.
    private static let databaseSign: [UInt8] = [UInt8(ascii: "="), 0xff]

    /// The tags in a message, behind the database where that is not 0: channels know no databases, and each has numbers
    /// of its own.
    static func payload(of names: [TagName], database: Int = 0) -> [UInt8] {
        var payload: [UInt8] = []
        if database != 0 { append(databaseSign + Array(String(database).utf8), to: &payload) }
        // To a release that knows no databases this is no message at all, and it looks at the marks.
        let tooMany = payload.isEmpty ? [] : payload + [0]
        for name in names {
            append(name.bytes, to: &payload)
            if payload.count > longestPayload { return tooMany }
        }
        return payload
    }

    private static func append(_ name: [UInt8], to payload: inout [UInt8]) {
        payload.append(UInt8(truncatingIfNeeded: name.count))
        payload.append(UInt8(truncatingIfNeeded: name.count >> 8))
        payload += name
    }

    /// The database that a message about tags or a clear is of.
    static func database(of message: [UInt8]) -> Int {
        let parts = message.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 ? sign(of: parts[2])?.database ?? 0 : 0
    }

    /// What a payload says of its database, and what is behind that.
    private static func sign(of payload: ArraySlice<UInt8>) -> (database: Int, rest: ArraySlice<UInt8>)? {
        guard payload.count >= 5, payload.dropFirst(2).starts(with: databaseSign) else { return nil }
        let length = Int(payload[payload.startIndex]) | Int(payload[payload.startIndex + 1]) << 8
        let digits = payload.dropFirst(4).prefix(max(0, length - 2))
        guard digits.count == length - 2, digits.count <= 10,
            let database = Int(String(decoding: digits, as: UTF8.self))
        else { return nil }
        return (database, payload.dropFirst(2 + length))
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
        let sign = Self.sign(of: parts[2])
        let payload = sign?.rest ?? parts[2]
        if message.first == UInt8(ascii: "c") {
            scope = .everything
        } else if payload.isEmpty || payload.count > Self.longestPayload || sign != nil && payload.elementsEqual([0]) {
            // No instance sends more; millions of tags would be read on the I/O thread.
            scope = .unknownTags
        } else {
            guard let names = Self.names(payload) else { return nil }
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
