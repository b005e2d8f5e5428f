import Testing

@testable import StrataRedis

@Suite("Reading of replies")
struct ReplyReaderTests {
    static let kinds: [(String, RESPValue)] = [
        ("+OK\r\n", .status("OK")),
        ("+\r\n", .status("")),
        ("+é\r\n", .status("é")),
        ("-ERR no such thing\r\n", .error("ERR no such thing")),
        ("-\r\n", .error("")),
        (":0\r\n", .integer(0)),
        (":-1\r\n", .integer(-1)),
        (":9223372036854775807\r\n", .integer(.max)),
        (":-9223372036854775808\r\n", .integer(.min)),
        ("$-1\r\n", .null),
        ("*-1\r\n", .null),
        ("$0\r\n\r\n", .bytes([])),
        ("$3\r\nfoo\r\n", .bytes(Array("foo".utf8))),
        ("$2\r\n\r\n\r\n", .bytes([0x0d, 0x0a])),
        ("$3\r\n$1\r\r\n", .bytes([0x24, 0x31, 0x0d])),
        ("*0\r\n", .array([])),
        ("*1\r\n*0\r\n", .array([.array([])])),
        ("*2\r\n$-1\r\n*-1\r\n", .array([.null, .null])),
        (
            "*6\r\n+OK\r\n-E\r\n:1\r\n$1\r\n\0\r\n$-1\r\n*1\r\n:2\r\n",
            .array([.status("OK"), .error("E"), .integer(1), .bytes([0]), .null, .array([.integer(2)])])
        ),
    ]

    @Test("every kind of reply, at once and byte by byte", arguments: kinds)
    func everyKind(text: String, expected: RESPValue) throws {
        let bytes = Array(text.utf8)
        #expect(try ReplyReader().read(bytes) == [expected])
        #expect(try ReplyReader().read(bytes + bytes) == [expected, expected])
        let reader = ReplyReader()
        for byte in bytes.dropLast() { #expect(try reader.read([byte]) == []) }
        #expect(try reader.read([0x0a]) == [expected])
    }

    @Test("arrays nested seven deep are read by every release of hiredis")
    func nesting() throws {
        for depth in 1...7 {
            var expected = RESPValue.integer(5)
            for _ in 0..<depth { expected = .array([expected, .null]) }
            let text = String(repeating: "*2\r\n", count: depth) + ":5\r\n" + String(repeating: "$-1\r\n", count: depth)
            #expect(try ReplyReader().read(text) == [expected])
        }
    }

    @Test("ill-formed UTF-8 in a status is repaired, in a bulk string kept")
    func illFormedText() throws {
        let replies = try ReplyReader().read(Array("+a".utf8) + [0xff] + Array("\r\n$1\r\n".utf8) + [0xff, 0x0d, 0x0a])
        #expect(replies == [.status("a\u{fffd}"), .bytes([0xff])])
    }

    @Test("a reader with limits of its own takes what is just inside them")
    func justInside() throws {
        let limits = ReplyLimits(bulkLength: 10, elements: 4, depth: 2, lineLength: 20)
        let fitting = [
            "$10\r\n0123456789\r\n", "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "*2\r\n*2\r\n:1\r\n:2\r\n:3\r\n",
            "*1\r\n*1\r\n:1\r\n",
            "+01234567890123456789\r\n", "-01234567890123456789\r\n",
        ]
        for text in fitting {
            #expect(try ReplyReader(limits: limits).read(text).count == 1, "\(text)")
            let bytes = Array(text.utf8)
            #expect(try ReplyReader(limits: limits).read(bytes, cutAt: 1..<bytes.count).count == 1, "\(text)")
        }
    }

    @Test("a large array arrives whole, whatever the slices")
    func largeArray() throws {
        let count = 100_000
        var bytes = Array("*\(count)\r\n".utf8)
        for number in 0..<count { bytes += Array(":\(number)\r\n".utf8) }
        let expected = RESPValue.array((0..<Int64(count)).map { .integer($0) })
        expectSame(try ReplyReader().read(bytes), [expected])
    }

    // MARK: After a large bulk string

    private static let large = [UInt8](repeating: 0x78, count: (1 << 20) + 1)
    private static let largeBytes = Array("$\(large.count)\r\n".utf8) + large + Array("\r\n".utf8)

    /// hiredis keeps the buffer of a large reply, so the reader is replaced; what follows must not get lost with it.
    @Test("a reply behind a large bulk string is read wherever it is cut", arguments: kinds)
    func behindLargeBulk(text: String, expected: RESPValue) throws {
        let next = Array(text.utf8)
        for cut in 0...next.count {
            let reader = ReplyReader()
            let replies = try reader.read(Self.largeBytes + next, cutAt: [Self.largeBytes.count + cut])
            #expect(replies.first?.bytes?.count == Self.large.count)
            expectSame(Array(replies.dropFirst()), [expected], "cut after \(cut)")
            expectSame(try reader.read(":7\r\n"), [.integer(7)], "cut after \(cut)")
        }
    }

    @Test("a large bulk string inside an array is read on from wherever it is cut")
    func largeBulkInArray() throws {
        let bytes = Array("*3\r\n:1\r\n".utf8) + Self.largeBytes + Array("+OK\r\n:2\r\n".utf8)
        let expected: [RESPValue] = [.array([.integer(1), .bytes(Self.large), .status("OK")]), .integer(2)]
        for cut in (bytes.count - 12)...bytes.count {
            expectSame(try ReplyReader().read(bytes, cutAt: [cut]), expected, "cut at \(cut)")
        }
    }

    @Test("many large bulk strings in a row, in pieces of odd sizes")
    func manyLargeBulks() throws {
        let bytes = (0..<4).flatMap { _ in Self.largeBytes + Array("+OK\r\n".utf8) }
        let expected = (0..<4).flatMap { _ in [RESPValue.bytes(Self.large), .status("OK")] }
        let pieces = Array(stride(from: 65_521, to: bytes.count, by: 65_521))
        expectSame(try ReplyReader().read(bytes, cutAt: pieces), expected)
    }
}
