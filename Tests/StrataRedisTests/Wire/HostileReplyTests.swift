import Strata
import Testing

@testable import StrataRedis

@Suite("Hostile replies")
struct HostileReplyTests {
    /// What no server of RESP2 sends; all of it is refused when its last byte is here at the latest.
    static let broken = [
        "*2147483648\r\n", "*9000000000000000000\r\n", "*9223372036854775807\r\n", "*99999999999999999999\r\n",
        "*9e18\r\n", "*1048577\r\n", "*2147483647\r\n", "*-2\r\n", "*-9223372036854775808\r\n", "*+1\r\n", "* 1\r\n",
        "*01\r\n", "*\r\n", "*x\r\n",
        "$9223372036854775807\r\n", "$9223372036854775808\r\n", "$99999999999999999999999\r\n", "$536870913\r\n",
        "$1\r\nabc", "$0\r\n\r\r", "$3\r\nfoo\n\r", "*1\r\n$1\r\nax\r\n", "$-2\r\n", "$-9223372036854775808\r\n",
        "$+5\r\n", "$ 5\r\n", "$05\r\n", "$\r\n", "$x\r\n",
        "$5x\r\n",
        ":\r\n", ":x\r\n", ":1x\r\n", ":+5\r\n", ":007\r\n", ":-0\r\n", ":- 1\r\n", ":9223372036854775808\r\n",
        ":-9223372036854775809\r\n", ":1.5\r\n",
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n", "\0",
        "\r\n", " ", "\u{ff}",
        "*1\r\nX", "*2\r\n:1\r\nHTTP", "*1\r\n$999999999\r\n", "*1\r\n*1\r\n*1048577\r\n",
    ]

    /// RESP3, which is never asked for: 0.14 does not know it, and 1.x would hand it over.
    static let resp3 = [
        ">2\r\n+message\r\n+x\r\n", "_\r\n", ",1.5\r\n", ",inf\r\n", "%1\r\n+a\r\n:1\r\n", "~1\r\n:1\r\n", "#t\r\n",
        "%-1\r\n", "~-1\r\n", ">-1\r\n", "=-1\r\n", "#f\r\n",
        "(3492890328409238509324850943850943825024385\r\n", "=7\r\ntxt:abc\r\n", "|1\r\n+a\r\n:1\r\n:2\r\n",
        "!5\r\nERR x\r\n", "*1\r\n_\r\n", "*1\r\n%1\r\n:1\r\n:2\r\n",
    ]

    /// Reads until the fault; `nil` when there is none.
    private func violation(of bytes: [UInt8], byByte: Bool = false) -> ReplyReader.Violation? {
        let reader = ReplyReader()
        do throws(ReplyReader.Violation) {
            _ = byByte ? try reader.read(bytes, cutAt: 1..<max(bytes.count, 1)) : try reader.read(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test("what is no RESP2 is a violation, in one piece and byte by byte", arguments: broken + resp3)
    func refused(text: String) {
        let bytes = Array(text.utf8)
        #expect(violation(of: bytes)?.message.isEmpty == false)
        #expect(violation(of: bytes, byByte: true)?.message.isEmpty == false)
    }

    @Test("a type of RESP3 is called that, not a lack of memory", arguments: resp3)
    func namesRESP3(text: String) {
        let message = violation(of: Array(text.utf8))?.message
        #expect(message?.lowercased().contains("memory") == false)
    }

    @Test(
        "a finished reader refuses everything from then on",
        arguments: ["X", "$999999999\r\n", "*1048577\r\n", "_\r\n"]
    )
    func finished(text: String) {
        let reader = ReplyReader()
        var replies: [RESPValue] = []
        #expect(throws: ReplyReader.Violation.self) { try reader.read(Array(text.utf8), into: &replies) }
        for next in ["+OK\r\n", "", ":1\r\n"] {
            #expect(throws: ReplyReader.Violation.self) { try reader.read(Array(next.utf8), into: &replies) }
        }
        #expect(replies == [])
    }

    @Test("replies before a fault are delivered", arguments: broken + resp3)
    func repliesBefore(text: String) {
        for byByte in [false, true] {
            let reader = ReplyReader()
            let bytes = Array("+OK\r\n*1\r\n:5\r\n\(text)+LATE\r\n".utf8)
            var replies: [RESPValue] = []
            #expect(throws: ReplyReader.Violation.self) {
                guard byByte else { return try reader.read(bytes, into: &replies) }
                for byte in bytes { try reader.read([byte], into: &replies) }
            }
            #expect(replies == [.status("OK"), .array([.integer(5)])])
        }
    }

    // MARK: Bounded memory

    /// Feeds `piece` for ever; returns how many bytes were taken before the reader refused.
    private func taken(_ start: String, endless piece: [UInt8], _ limits: ReplyLimits, upTo end: Int) -> Int {
        let reader = ReplyReader(limits: limits)
        var replies: [RESPValue] = []
        var taken = start.utf8.count
        do throws(ReplyReader.Violation) {
            try reader.read(Array(start.utf8), into: &replies)
            while taken < end {
                try reader.read(piece, into: &replies)
                taken += piece.count
            }
        } catch {
            #expect(replies == [])
        }
        return taken
    }

    @Test(
        "a line without an end is refused at the limit, in pieces of any size",
        arguments: ["+", "-", ":", ":1", "$", "$1", "$-", "*", "*1", "$5\r", "$5\rx", "*1\r", "+OK\r", "*1\r\n$3\r"]
    )
    func endlessLine(start: String) {
        for (size, limit) in [(1, 100), (7, 1_000), (16 << 10, 64 << 10), (64 << 10, 64 << 10)] {
            let piece = [UInt8](repeating: UInt8(ascii: "1"), count: size)
            let bound = limit + size + start.utf8.count + 2
            let taken = taken(start, endless: piece, ReplyLimits(lineLength: limit), upTo: 2 * bound)
            #expect(taken <= bound, "pieces of \(size)")
        }
    }

    @Test("carriage returns alone end no line", arguments: ["+", "$5", "*1", "$5\r", ":1"])
    func carriageReturns(start: String) {
        let piece = [UInt8](repeating: 0x0d, count: 9_999)
        #expect(taken(start, endless: piece, ReplyLimits(), upTo: 1 << 20) < 80_000)
    }

    @Test("a line above the limit is refused wherever it is cut, one at the limit is not")
    func lineLimit() {
        let limits = ReplyLimits(lineLength: 100)
        for kind in ["+", "-"] {
            for (length, isRefused) in [(99, false), (100, false), (101, true), (5_000, true), (40_000, true)] {
                let bytes = Array((kind + String(repeating: "a", count: length) + "\r\n").utf8)
                for cut in [0, 1, 50, 100, 101, 102, 103, bytes.count - 1] where cut < bytes.count {
                    let reader = ReplyReader(limits: limits)
                    var replies: [RESPValue]?
                    do { replies = try reader.read(bytes, cutAt: [cut]) } catch {}
                    #expect((replies == nil) == isRefused, "length \(length), cut at \(cut)")
                }
            }
        }
    }

    @Test("arrays nested a million deep are refused at the limit")
    func deep() {
        let bytes = Array(String(repeating: "*1\r\n", count: 1_000_000).utf8)
        #expect(violation(of: bytes) != nil)
        #expect(violation(of: Array(bytes.prefix(8 * 4))) != nil)
        #expect(violation(of: Array(bytes.prefix(7 * 4))) == nil)
        // A limit above what hiredis itself takes is no way around it.
        let reader = ReplyReader(limits: ReplyLimits(depth: 1_000))
        #expect(throws: ReplyReader.Violation.self) { try reader.read(bytes) }
    }

    @Test("announced elements are counted over all arrays of a reply, and from nothing for the next")
    func elements() throws {
        let limits = ReplyLimits(elements: 10)
        #expect(throws: ReplyReader.Violation.self) { try ReplyReader(limits: limits).read("*11\r\n") }
        #expect(throws: ReplyReader.Violation.self) { try ReplyReader(limits: limits).read("*2\r\n*9\r\n") }
        let inParts = "*5\r\n:1\r\n*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n*1\r\n"
        #expect(throws: ReplyReader.Violation.self) { try ReplyReader(limits: limits).read(inParts) }
        let reader = ReplyReader(limits: limits)
        for _ in 0..<5 { #expect(try reader.read("*1\r\n*2\r\n:1\r\n:2\r\n").count == 1) }
    }

    @Test("the bytes of all strings of a reply are counted together; what is above the limit is passed over")
    func wholeLength() throws {
        let limits = ReplyLimits(length: 100)
        let sixty = "*2\r\n$60\r\n" + String(repeating: "x", count: 60) + "\r\n"
        let forty = "$41\r\n" + String(repeating: "y", count: 41) + "\r\n"
        let expected: [RESPValue] = [
            .array([.bytes([UInt8](repeating: 0x78, count: 60)), .oversized(41)]), .integer(1),
        ]
        expectSame(try ReplyReader(limits: limits).read(sixty + forty + ":1\r\n"), expected)
        let lines = "*3\r\n" + String(repeating: "+\(String(repeating: "x", count: 40))\r\n", count: 3)
        #expect(throws: ReplyReader.Violation.self) { try ReplyReader(limits: limits).read(lines) }
        let reader = ReplyReader(limits: limits)
        let fitting = sixty + "$40\r\n" + String(repeating: "x", count: 40) + "\r\n"
        for _ in 0..<3 { #expect(try reader.read(fitting).count == 1) }
    }

    @Test("an array within the limit reserves nothing before its elements are here")
    func noReservation() throws {
        // A million announced elements, on a thousand readers at once: 24 GB if they were reserved.
        let readers = (0..<1_000).map { _ in ReplyReader() }
        for reader in readers { #expect(try reader.read("*1048576\r\n") == []) }
    }

    @Test("random bytes end in replies or a violation, never otherwise")
    func randomBytes() {
        var random = SplitMix64.announced()
        for _ in 0..<20_000 {
            let bytes = random.bytes(.random(in: 0...120, using: &random))
            _ = violation(of: bytes)
        }
        // Most of that ends at the first byte. Bytes from the alphabet of RESP go on for longer.
        let alphabet = Array("+-:$*0123456789\r\n\r\n\r\n_,%#>~".utf8)
        for _ in 0..<20_000 {
            let count = Int.random(in: 1...200, using: &random)
            let bytes = (0..<count).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            #expect((violation(of: bytes) == nil) == (violation(of: bytes, byByte: true) == nil), "\(bytes)")
        }
    }

    @Test("a valid stream with one byte changed ends in replies or a violation, the same however it is cut")
    func mutations() {
        var generator = ReplyGenerator(random: .announced())
        for _ in 0..<3_000 {
            var (_, bytes) = generator.stream(4, longestBulk: 20)
            bytes[.random(in: 0..<bytes.count, using: &generator.random)] = generator.random.bytes(1)[0]
            var whole: [RESPValue] = []
            var pieces: [RESPValue] = []
            var wholeFailed = false
            var piecesFailed = false
            do { try ReplyReader().read(bytes, into: &whole) } catch { wholeFailed = true }
            let reader = ReplyReader()
            do { for byte in bytes { try reader.read([byte], into: &pieces) } } catch { piecesFailed = true }
            expectSame(pieces, whole, "\(bytes)")
            #expect(wholeFailed == piecesFailed, "\(bytes)")
        }
    }

    @Test("a string that is passed over ends where it says, or the reader gives up", arguments: [1, 7, 40])
    func passedOverEnd(piece: Int) throws {
        for (end, isBroken) in [("\r\n", false), ("\rx", true), ("x\n", true), ("\n\r", true)] {
            let reader = ReplyReader(limits: ReplyLimits(bulkLength: 24, length: 96))
            var replies: [RESPValue] = []
            func read() throws {
                var rest = Array(("$40\r\n" + String(repeating: "x", count: 40) + end + ":7\r\n").utf8)[...]
                while !rest.isEmpty {
                    let some = Array(rest.prefix(piece))
                    rest = rest.dropFirst(some.count)
                    try some.withUnsafeBytes { try reader.read($0, into: &replies) }
                }
            }
            if isBroken {
                #expect(throws: ReplyReader.Violation.self) { try read() }
            } else {
                try read()
                #expect(replies == [.oversized(40), .integer(7)])
            }
        }
    }
}
