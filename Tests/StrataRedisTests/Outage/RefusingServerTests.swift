import Logging
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Servers that answer, and are of no use", .timeLimit(.minutes(5)))
struct RefusingServerTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test(
        "one that refuses every command for ever: the breaker opens, and one line for each role says why",
        arguments: [
            "MOVED 866 127.0.0.1:7001", "ASK 866 127.0.0.1:7001", "NOPERM this user has no permissions",
            "NOSCRIPT No matching script", "ERR unknown command",
        ]
    )
    func refusals(text: String) async throws {
        let server = try await ScriptedServer.start(answering: { command, _ in
            switch command[0] {
            case "PING": [.send(text: "+PONG\r\n")]
            case "CLIENT": [.send(text: "+OK\r\n")]
            default: [.send(text: "-\(text)\r\n")]
            }
        })
        let log = LogRecorder()
        var configuration = try RedisConfiguration.patient(server.url)
        configuration.breaker.minimumCalls = 4
        configuration.breaker.pause = .seconds(60) ... .seconds(60)
        let redis = try RedisClient(configuration, logger: log.logger)
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: .none)
        let cache = level.fetching { "source \($0)" }
        var number = 0
        while redis.outageStatistics.breakers[.read]?.state != .open {
            #expect(try await cache.get("\(number)") == "source \(number)")
            number += 1
        }
        while redis.outageStatistics.breakers[.remove]?.state != .open {
            await #expect(throws: RedisError.self) { try await level.remove("a") }
        }
        let code = try #require(text.split(separator: " ").first)
        for role in ["read", "remove"] {
            let lines = log.lines.filter {
                $0.text.hasPrefix("Redis refuses") && $0.text.contains("redis.role=\(role)")
            }
            #expect(lines.count == 1 && lines[0].level == .warning && lines[0].text.contains("error=\(code)"))
        }
        await redis.shutDown()
        await server.stop()
    }

    @Test("a keyspace that the user may not access is not an outage for the others of the client, and is told")
    func forbiddenKeyspace() async throws {
        let user = RedisServer.Directive(stringLiteral: "user half on >pw ~*\(keyspace.name)* &* +@all")
        try await RedisServer.withServer(.init(directives: [user])) { server in
            let log = LogRecorder()
            var configuration = try RedisConfiguration.patient(server.url)
            (configuration.username, configuration.password) = ("half", Secret("pw"))
            configuration.breaker.minimumCalls = 4
            configuration.breaker.pause = .seconds(60) ... .seconds(60)
            let redis = try RedisClient(configuration, logger: log.logger)
            let forbidden = RedisLevel<String, String>(redis, keyspace: "forbidden", codec: .text, coherence: .none)
                .fetching { "source \($0)" }
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: .none)
            for number in 0..<50 {
                #expect(try await forbidden.get("\(number)") == "source \(number)")
                await #expect(throws: RedisError.self) { try await forbidden.level.set("x", for: "\(number)") }
                await #expect(throws: RedisError.self) { try await forbidden.level.remove("\(number)") }
            }
            try await level.set("v", for: "k")
            #expect(try await level.get("k") == "v")
            try await level.remove("k")
            #expect(log.lines.contains { $0.text.hasPrefix("Redis refuses") && $0.text.contains("error=NOPERM") })
            await redis.shutDown(within: .zero)
        }
    }

    @Test("a reason is told when it changes, and again after a minute")
    func refusalLog() {
        let recorder = LogRecorder()
        let log = RefusalLog(endpoint: "test", logger: recorder.logger)
        var now = MonotonicInstant(nanoseconds: 5_000_000_000_000)
        func note(_ text: String, _ role: RedisRole, after pause: Duration = .zero) -> Int {
            now = now.advanced(by: pause)
            log.note(.reply(text, endpoint: nil), role, at: now)
            return recorder.lines.count
        }
        #expect(note("NOPERM a", .read) == 1)
        #expect(note("NOPERM b", .read, after: .seconds(59)) == 1)
        #expect(note("NOPERM a", .write) == 2)
        #expect(note("MOVED 1 x", .read) == 3)
        #expect(note("MOVED 2 y", .read, after: .seconds(60)) == 4)
        #expect(recorder.lines.allSatisfy { !$0.text.contains("a permission") })
    }

    @Test(
        "the command that is refused is named, and nothing else of what the server says",
        arguments: [
            ("NOPERM this user has no permissions to run the 'evalsha' command", "evalsha"),
            ("NOPERM User app has no permissions to run the 'client|tracking' command", "client|tracking"),
            ("ERR unknown command 'EVALSHA', with args beginning with: 'secret' ", "evalsha"),
            ("ERR unknown command `EVAL`, with args beginning with: `secret`, ", "eval"),
            ("NOPERM this user has no permissions to access one of the keys used as arguments", nil),
            ("ERR unknown command 'not a name', with", nil), ("ERR unknown command ''", nil),
            ("ERR unknown command '", nil),
            ("ERR unknown command '\u{1b}[31m'", nil), ("", nil),
        ] as [(String, String?)]
    )
    func refusedCommand(text: String, command: String?) {
        #expect(RefusalLog.command(in: text) == command)
        let recorder = LogRecorder()
        RefusalLog(endpoint: "test", logger: recorder.logger).note(.reply(text, endpoint: nil), .lease)
        #expect(recorder.lines.count == 1)
        #expect(recorder.lines.first?.text.contains("secret") == false)
        #expect(recorder.lines.first?.text.contains("command=") == (command != nil))
    }

    @Test("one that has become a replica is left: all connections and the link are made anew")
    func demoted() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            var configuration = try RedisConfiguration(url: proxy.url)
            configuration.connections = 2
            configuration.commandTimeout = .seconds(20)
            configuration.connectTimeout = .seconds(20)
            configuration.linkPingTimeout = .seconds(20)
            let redis = try RedisClient(configuration)
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            for _ in 0..<2 { try await redis.set("a", [1]) }
            while proxy.snapshot.counts.accepted < 3 { try await nextTurn() }
            try await server.command("REPLICAOF", "127.0.0.1", "1")
            await #expect(throws: RedisError.self) { try await redis.set("a", [2]) }
            while proxy.snapshot.counts.accepted < 6 { try await nextTurn() }
            #expect(try await redis.get("a") == [1])
            withExtendedLifetime(level) {}
            await redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("a replica that is meant to be one is left less and less often")
    func demotion() {
        var demotion = Demotion()
        let start = MonotonicInstant(nanoseconds: 5_000_000_000_000)
        var left: [Int] = []
        for second in 0..<200 where demotion.leaves(at: start.advanced(by: .seconds(second))) { left.append(second) }
        #expect(left == [0, 1, 3, 7, 15, 31, 63, 123, 183])
        for second in [1_000, 1_001] {
            let leaves = demotion.leaves(at: start.advanced(by: .seconds(second)))
            #expect(leaves)
        }
    }

    @Test("when all failed removals were repeated, the breaker of removals is closed")
    func repeated() async throws {
        try await RedisServer.withServer { server in
            var configuration = try RedisConfiguration.patient(server.url)
            configuration.breaker.minimumCalls = 4
            configuration.breaker.pause = .seconds(60) ... .seconds(60)
            let redis = try RedisClient(configuration)
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: .none)
            try await server.kill()
            for number in 0..<20 {
                await #expect(throws: RedisError.self) { try await level.remove("\(number)") }
            }
            #expect(redis.outageStatistics.breakers[.remove]?.state == .open)
            try await server.restart(keepingData: false)
            while redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            #expect(redis.outageStatistics.breakers[.remove]?.state == .closed)
            await redis.shutDown()
        }
    }

    // MARK: Scans

    @Test("a scan that goes round in a circle ends with an error")
    func circle() async throws {
        let server = try await ScriptedServer.start(answering: { command, _ in
            switch command[0] {
            case "PING": [.send(text: "+PONG\r\n")]
            case "SCAN": [.send(text: "*2\r\n$1\r\n7\r\n*0\r\n")]
            default: [.send(text: "+OK\r\n")]
            }
        })
        let redis = try TestServer.client(of: server.url)
        let error = await #expect(throws: RedisError.self) {
            for try await _ in redis.keys(beginningWith: [1]) {}
        }
        #expect(error?.code == .unexpectedReply)
        await redis.shutDown()
        await server.stop()
    }

    @Test("a scan of a server that tells no size, or one beyond belief, ends as well", arguments: [nil, 1 << 40])
    func endless(size: Int?) async throws {
        var limit = ScanLimit()
        for step in 1...ScanLimit.free {
            try await limit.check(UInt64(step), next: UInt64(step) + 1) {
                guard let size else { throw CancellationError() }
                return size
            }
        }
        #expect(limit.limit == ScanLimit.most)
    }

    @Test(
        "a scan may take as many steps as a sparse table of the database's size has, and no more",
        arguments: [0, 51_200]
    )
    func bound(size: Int) async throws {
        var limit = ScanLimit()
        let most = ScanLimit.free + size / 512 * ScanLimit.factor
        for step in 1..<most { try await limit.check(UInt64(step), next: UInt64(step) + 1) { size } }
        await #expect(throws: RedisError.self) {
            var limit = limit
            try await limit.check(UInt64(most), next: UInt64(most) + 1) { size }
        }
        try await limit.check(UInt64(most), next: 0) { size }
    }
}
