import Strata
import StrataRedis

/// Makes random replies together with the bytes by which a server would send them.
struct ReplyGenerator {
    var random: SplitMix64
    /// Deepest nesting of arrays; the parser of hiredis 0.14 and the default limit agree on 7.
    var depth = 7

    /// Several replies after each other.
    mutating func stream(_ count: Int, longestBulk: Int = 300) -> (values: [RESPValue], bytes: [UInt8]) {
        var bytes: [UInt8] = []
        let values = (0..<count).map { _ in reply(depth: depth, longestBulk: longestBulk, &bytes) }
        return (values, bytes)
    }

    private mutating func reply(depth: Int, longestBulk: Int, _ bytes: inout [UInt8]) -> RESPValue {
        switch Int.random(in: depth > 0 ? 0...9 : 0...6, using: &random) {
        case 0:
            let text = line()
            bytes += Array("+\(text)\r\n".utf8)
            return .status(text)
        case 1:
            let text = line()
            bytes += Array("-\(text)\r\n".utf8)
            return .error(text)
        case 2:
            let value = integer()
            bytes += Array(":\(value)\r\n".utf8)
            return .integer(value)
        case 3:
            bytes += Array((random.once(in: 2) ? "$-1\r\n" : "*-1\r\n").utf8)
            return .null
        case 4...6:
            let bulk = random.bytes(random.once(in: 4) ? 0 : .random(in: 0...longestBulk, using: &random))
            bytes += Array("$\(bulk.count)\r\n".utf8) + bulk + Array("\r\n".utf8)
            return .bytes(bulk)
        default:
            let count = Int.random(in: 0...4, using: &random)
            bytes += Array("*\(count)\r\n".utf8)
            return .array((0..<count).map { _ in reply(depth: depth - 1, longestBulk: longestBulk, &bytes) })
        }
    }

    private mutating func integer() -> Int64 {
        switch Int.random(in: 0...3, using: &random) {
        case 0: [0, 1, -1, .max, .min, .max - 1, .min + 1].randomElement(using: &random) ?? 0
        case 1: .random(in: -10_000...10_000, using: &random)
        default: .random(in: .min ... .max, using: &random)
        }
    }

    /// Text as it may stand in a line: anything but a line end, also none at all.
    private mutating func line() -> String {
        let alphabet = Array("OKERRabcxyz 0123456789:$*+-_\u{e9}\u{1f600}\t\u{1b}").map(String.init)
        return (0..<Int.random(in: 0...40, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "" }
            .joined()
    }
}

extension ReplyReader {
    /// Feeds bytes and returns the replies that are whole by then.
    func read(_ bytes: [UInt8]) throws(Violation) -> [RESPValue] {
        var replies: [RESPValue] = []
        try read(bytes, into: &replies)
        return replies
    }

    /// Feeds text and returns the replies that are whole by then.
    func read(_ text: String) throws(Violation) -> [RESPValue] { try read(Array(text.utf8)) }

    /// Feeds bytes; `replies` has those before a fault, too.
    func read(_ bytes: [UInt8], into replies: inout [RESPValue]) throws(Violation) {
        var violation: Violation?
        bytes.withUnsafeBytes { bytes in
            do throws(Violation) { try read(bytes, into: &replies) } catch { violation = error }
        }
        if let violation { throw violation }
    }

    /// Feeds bytes in pieces that begin at `cuts`, which have to ascend.
    func read(_ bytes: [UInt8], cutAt cuts: some Sequence<Int>) throws(Violation) -> [RESPValue] {
        var replies: [RESPValue] = []
        var start = 0
        for cut in cuts {
            try read(Array(bytes[start..<cut]), into: &replies)
            start = cut
        }
        try read(Array(bytes[start...]), into: &replies)
        return replies
    }
}
