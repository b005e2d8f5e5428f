/// Finds the ends of replies (or commands) of the Redis protocol, versions 2 and 3, in a stream of bytes.
///
/// It keeps no bytes but the line that it is reading. A stream that is no Redis protocol, TLS for one, has no ends: the
/// framer gives up at the first byte that cannot stand where it does.
///
/// Source: Redis serialization protocol specification, <https://redis.io/docs/latest/develop/reference/protocol-spec/>.
package struct ReplyFramer: Sendable {
    private enum State: Sendable {
        case start
        case line(kind: UInt8)
        case body(left: Int)
        case lost
    }

    /// Lines with a length are short; the text of others is not kept.
    private static let lengthLimit = 24
    private static let lineLimit = 64 << 10

    private var state = State.start
    private var line: [UInt8] = []
    private var lineLength = 0
    /// How many values are missing until the reply is whole; a list adds its members.
    private var missing = 1

    package init() {}

    /// Whether bytes of a reply are here whose end is not.
    package private(set) var isInside = false

    /// Whether the stream is no Redis protocol.
    package var isLost: Bool { if case .lost = state { true } else { false } }

    /// Reads up to the end of the next reply.
    ///
    /// - Parameter bytes: What comes next in the stream.
    /// - Returns: How many of the bytes were read, and whether a reply ends with them. Without an end all were read.
    package mutating func scan(_ bytes: ArraySlice<UInt8>) -> (count: Int, isEnd: Bool) {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            isInside = true
            switch state {
            case .lost: return (bytes.count, false)
            case .start:
                state = .line(kind: bytes[index])
                line = []
                lineLength = 0
                index += 1
            case .line(let kind):
                let byte = bytes[index]
                index += 1
                guard byte == 0x0a else {
                    lineLength += 1
                    if line.count < Self.lengthLimit { line.append(byte) }
                    if lineLength > Self.lineLimit { state = .lost }
                    continue
                }
                takeLine(of: kind)
            case .body(let left):
                let count = min(left, bytes.endIndex - index)
                index += count
                state = count == left ? .start : .body(left: left - count)
                if count == left { missing -= 1 }
            }
            if case .start = state, missing == 0 {
                missing = 1
                isInside = false
                return (index - bytes.startIndex, true)
            }
        }
        return (bytes.count, false)
    }

    private mutating func takeLine(of kind: UInt8) {
        state = .start
        switch kind {
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: ","),
            UInt8(ascii: "#"), UInt8(ascii: "("):
            missing -= 1
        case UInt8(ascii: "$"), UInt8(ascii: "!"), UInt8(ascii: "="):
            guard let length else {
                state = .lost
                return
            }
            // The line end behind it belongs to it.
            if length < 0 { missing -= 1 } else { state = .body(left: length + 2) }
        case UInt8(ascii: "*"), UInt8(ascii: "~"), UInt8(ascii: ">"): take(members: length, of: 1)
        case UInt8(ascii: "%"): take(members: length, of: 2)
        case UInt8(ascii: "|"):
            take(members: length, of: 2)
            // What the attributes are about is still to come.
            missing += 1
        default: state = .lost
        }
    }

    private mutating func take(members: Int?, of size: Int) {
        guard let members, members < 1 << 32 else {
            state = .lost
            return
        }
        missing += max(members, 0) * size - 1
    }

    private var length: Int? {
        guard line.last == 0x0d, let length = Int(String(decoding: line.dropLast(), as: UTF8.self)) else { return nil }
        return length < 1 << 40 ? length : nil
    }
}
