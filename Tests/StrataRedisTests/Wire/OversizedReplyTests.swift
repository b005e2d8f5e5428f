import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Strings above the limit", .timeLimit(.minutes(5)))
struct OversizedReplyTests {
    private static let limits = ReplyLimits(bulkLength: 100)

    private func bulk(_ count: Int, _ byte: UInt8 = 0x61) -> [UInt8] {
        Array("$\(count)\r\n".utf8) + [UInt8](repeating: byte, count: count) + Array("\r\n".utf8)
    }

    @Test("they are passed over wherever the stream is cut, and what follows is read", arguments: [101, 102, 1_000])
    func passedOver(count: Int) throws {
        let bytes =
            Array("+before\r\n".utf8) + bulk(count) + Array("*3\r\n:1\r\n".utf8) + bulk(count, 0x0d) + bulk(100)
            + Array(":2\r\n".utf8)
        let expected: [RESPValue] = [
            .status("before"), .oversized(count),
            .array([.integer(1), .oversized(count), .bytes([UInt8](repeating: 0x61, count: 100))]), .integer(2),
        ]
        expectSame(try ReplyReader(limits: Self.limits).read(bytes), expected)
        expectSame(try ReplyReader(limits: Self.limits).read(bytes, cutAt: 1..<bytes.count), expected)
        for cut in 1..<bytes.count {
            expectSame(try ReplyReader(limits: Self.limits).read(bytes, cutAt: [cut]), expected, "cut at \(cut)")
        }
    }

    @Test("one as long as Redis has them is passed over without room for it")
    func longest() throws {
        let reader = ReplyReader(limits: Self.limits)
        let count = 512 << 20
        var replies: [RESPValue] = []
        try reader.read(Array("$\(count)\r\n".utf8), into: &replies)
        let piece = [UInt8](repeating: 0x24, count: 1 << 20)
        for _ in 0..<512 { try reader.read(piece, into: &replies) }
        #expect(replies == [.oversized(count)])
        try reader.read(Array("\r\n:1\r\n".utf8), into: &replies)
        #expect(replies == [.oversized(count), .integer(1)])
    }

    @Test("a command with a short answer is not answered with a long one")
    func allowance() throws {
        let long = bulk(70_000)
        for (asked, isAllowed) in [(0, true), (1, false)] {
            var questions: [Int] = []
            let reader = ReplyReader(limits: ReplyLimits()) { index in
                questions.append(index)
                return index == asked
            }
            let bytes = long + Array("+OK\r\n".utf8)
            if isAllowed {
                #expect(try reader.read(bytes).count == 2)
            } else {
                #expect(throws: ReplyReader.Violation.self) { try reader.read(bytes) }
            }
            #expect(questions == [0])
        }
        // Many elements are as long as a long string, and a header alone tells.
        for header in ["*1025\r\n", "*2\r\n*1024\r\n", "$65537\r\n"] {
            let reader = ReplyReader(limits: ReplyLimits()) { _ in false }
            #expect(throws: ReplyReader.Violation.self) { try reader.read(header) }
        }
        let reader = ReplyReader(limits: ReplyLimits()) { _ in false }
        #expect(try reader.read(Array("*1024\r\n".utf8)) == [])
    }

    @Test("a value that no reader would take is not written, by a client and by a level")
    func writer() async throws {
        let redis = try await TestServer.client { $0.replyLimits.bulkLength = 1_000 }
        let name = TestServer.uniqueName()
        let key = RedisKey(name)
        try await redis.set(key, [UInt8](repeating: 1, count: 1_000))
        #expect(try await redis.get(key)?.count == 1_000)
        let error = await #expect(throws: RedisError.self) {
            try await redis.set(key, [UInt8](repeating: 1, count: 1_001))
        }
        #expect(error?.code == .tooLarge)
        #expect(try await redis.get(key)?.count == 1_000)
        try await redis.delete(key)

        let level = RedisLevel<String, String>(redis, keyspace: Keyspace(name), coherence: .none)
        let fault = await #expect(throws: CacheError.self) {
            try await level.store(Entry(value: String(repeating: "x", count: 950)), for: "a")
        }
        #expect(fault?.code == .tooLarge)
        try await level.store(Entry(value: String(repeating: "x", count: 500)), for: "a")
        #expect(try await level.entry(for: "a", ReadRequest())?.value?.count == 500)
        #expect(redis.outageStatistics.pendingInvalidations == 0)
    }

    @Test("a read of one fails alone: the connection lives, and its neighbours get what is theirs")
    func neighbours() async throws {
        let writer = try await TestServer.client()
        let redis = try await TestServer.client { $0.replyLimits.bulkLength = 100_000 }
        let name = TestServer.uniqueName()
        let (large, small) = (RedisKey(name + "-large"), RedisKey(name + "-small"))
        try await writer.set(large, [UInt8](repeating: 1, count: 3 << 20), expiringIn: .seconds(60))
        try await writer.set(small, [7], expiringIn: .seconds(60))
        let connection = try await redis.client("ID")
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    if number.isMultiple(of: 10) {
                        let error = await #expect(throws: RedisError.self) { try await redis.get(large) }
                        #expect(error?.code == .tooLarge)
                    } else {
                        let value = try? await redis.get(small)
                        #expect(value == [7])
                    }
                }
            }
        }
        #expect(try await redis.client("ID") == connection)
        let several = await #expect(throws: RedisError.self) { try await redis.get([small, large]) }
        #expect(several?.code == .tooLarge)
        _ = try await writer.unlink([large, small])
    }

    @Test("who only shares a connection with a reply that breaks the protocol is asked for again")
    func bystanders() async throws {
        // The first connection breaks with the reply to the first GET, when three have come.
        let server = try await ScriptedServer.start(answering: { command, connection in
            switch command[0] {
            case "GET" where connection == 0: command[1] == "c" ? [.send(text: "X")] : []
            case "GET": [.send(text: "$1\r\n\(command[1])\r\n")]
            case "PING": [.send(text: "+PONG\r\n")]
            default: [.send(text: "+OK\r\n")]
            }
        })
        let redis = try RedisClient(.patient(server.url))
        try await redis.ping()
        let first = Task { try await redis.get("a") }
        try await server.wait { $0.text(of: 0).contains("$1\r\na\r\n") }
        let second = Task { try await redis.get("b") }
        try await server.wait { $0.text(of: 0).contains("$1\r\nb\r\n") }
        let third = Task { try await redis.get("c") }
        let error = await #expect(throws: RedisError.self) { try await first.value }
        #expect(error?.code == .protocolViolation)
        #expect(try await second.value == Array("b".utf8))
        #expect(try await third.value == Array("c".utf8))
        await redis.shutDown()
        await server.stop()
    }
}
