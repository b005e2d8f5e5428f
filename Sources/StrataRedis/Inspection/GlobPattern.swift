/// A glob as Redis understands it, matched here: the server would match it against encoded names.
///
/// `*` stands for any bytes, `?` for one byte, `[abc]`, `[a-z]` and `[^a]` for one byte of a set; a backslash takes the
/// meaning from what follows. A set that is not closed and a backslash at the end are refused.
package struct GlobPattern: Sendable {
    private enum Token: Sendable {
        case byte(UInt8)
        case anyByte
        case anyBytes
        case set([ClosedRange<UInt8>], negated: Bool)

        func matches(_ byte: UInt8) -> Bool {
            switch self {
            case .byte(let own): own == byte
            case .anyByte: true
            case .anyBytes: false
            case .set(let ranges, let negated): ranges.contains { $0.contains(byte) } != negated
            }
        }
    }

    private let tokens: [Token]

    /// Reads a pattern; `nil` when it ends inside a set or behind a backslash.
    package init?(_ pattern: [UInt8]) {
        var tokens: [Token] = []
        var rest = pattern[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "*"):
                // Several in a row mean no more than one.
                if case .anyBytes? = tokens.last { continue }
                tokens.append(.anyBytes)
            case UInt8(ascii: "?"): tokens.append(.anyByte)
            case UInt8(ascii: "["):
                guard let set = Self.set(from: &rest) else { return nil }
                tokens.append(set)
            case UInt8(ascii: "\\"):
                guard let literal = rest.popFirst() else { return nil }
                tokens.append(.byte(literal))
            default: tokens.append(.byte(byte))
            }
        }
        self.tokens = tokens
    }

    private static func set(from rest: inout ArraySlice<UInt8>) -> Token? {
        let negated = rest.first == UInt8(ascii: "^")
        if negated { rest.removeFirst() }
        var ranges: [ClosedRange<UInt8>] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "]") { return .set(ranges, negated: negated) }
            if byte == UInt8(ascii: "\\") {
                guard let literal = rest.popFirst() else { return nil }
                ranges.append(literal...literal)
            } else if rest.first == UInt8(ascii: "-"), rest.count >= 2 {
                let end = rest[rest.startIndex + 1]
                rest.removeFirst(2)
                ranges.append(min(byte, end)...max(byte, end))
            } else {
                ranges.append(byte...byte)
            }
        }
        return nil
    }

    /// What every match begins with.
    package var literalPrefix: [UInt8] {
        var prefix: [UInt8] = []
        for case .byte(let byte) in tokens.prefix(while: { if case .byte = $0 { true } else { false } }) {
            prefix.append(byte)
        }
        return prefix
    }

    /// Whether the whole of `bytes` matches.
    ///
    /// O(bytes × tokens) at worst: only the latest `*` is ever tried again, since an earlier one that takes more bytes
    /// could only find what the latest one finds as well.
    package func matches(_ bytes: [UInt8]) -> Bool {
        var position = 0
        var token = 0
        var retry: (token: Int, position: Int)?
        while position < bytes.count {
            if token < tokens.count, tokens[token].matches(bytes[position]) {
                token += 1
                position += 1
            } else if token < tokens.count, case .anyBytes = tokens[token] {
                retry = (token, position)
                token += 1
            } else if let (star, start) = retry {
                retry = (star, start + 1)
                token = star + 1
                position = start + 1
            } else {
                return false
            }
        }
        while token < tokens.count, case .anyBytes = tokens[token] { token += 1 }
        return token == tokens.count
    }
}
