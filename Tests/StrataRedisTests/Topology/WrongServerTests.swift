import Logging
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

/// Each is said once, in words that name what answers, and callers get a typed error; caches go on without Redis.
@Suite("A server in the wrong place", .timeLimit(.minutes(5)))
struct WrongServerTests {
    private let log = LogRecorder()

    private func client(
        _ url: String,
        log: LogRecorder? = nil,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisClient {
        var configuration = try RedisConfiguration(url: url)
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.sentinels?.timeout = .seconds(20)
        configuration.reconnectDelay = .nanoseconds(1) ... .milliseconds(1)
        adjust(&configuration)
        return try RedisClient(configuration, logger: (log ?? self.log).logger)
    }

    private var warnings: [String] { log.lines.filter { $0.level == .warning }.map(\.text) }

    /// A call fails with an error of this kind, a cache asks its source, and one warning says why.
    private func expectRefusal(
        _ url: String,
        _ code: RedisError.Code,
        _ words: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let log = LogRecorder()
        let redis = try client(url, log: log)
        let error = await #expect(throws: RedisError.self, sourceLocation: sourceLocation) { try await redis.ping() }
        #expect(error?.code == code, sourceLocation: sourceLocation)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")", sourceLocation: sourceLocation)
        let cache = RedisLevel<String, String>(redis, keyspace: "test", codec: .text).fetching { "source \($0)" }
        #expect(try await cache.get("k") == "source k", sourceLocation: sourceLocation)
        for _ in 0..<5 { await #expect(throws: RedisError.self) { try await redis.ping() } }
        // The link finds out by itself.
        while !redis.outageStatistics.isImpaired { try await nextTurn() }
        await redis.shutDown()
        let lines = log.lines.filter { $0.level == .warning && $0.text.hasPrefix("no connection to Redis") }
        #expect(lines.count == 1 && lines[0].text.contains(words), "\(lines)", sourceLocation: sourceLocation)
    }

    @Test("a node of a cluster")
    func clusterNode() async throws {
        var configuration = RedisCluster.Configuration()
        configuration.primaries = 1
        let cluster = try await RedisCluster.start(configuration)
        try await expectRefusal(cluster.nodes[0].url, .wrongServer, "node of a cluster")
        try await cluster.stop()
    }

    @Test("a Sentinel")
    func sentinel() async throws {
        var configuration = RedisReplication.Configuration()
        configuration.replicas = 0
        configuration.sentinels = 1
        let set = try await RedisReplication.start(configuration)
        try await expectRefusal(set.sentinels[0].url, .wrongServer, "a Sentinel answers there")
        try await set.stop()
    }

    @Test("a server where a Sentinel is expected, and a name that no Sentinel knows")
    func noSentinel() async throws {
        let server = try await RedisServer.start()
        let port = try #require(server.port)
        try await expectRefusal(
            "redis-sentinel://127.0.0.1:\(port)/?master=m",
            .wrongServer,
            "127.0.0.1:\(port) is a Redis server, not a Sentinel"
        )
        try await server.stop()
    }

    @Test(
        "what is no Redis server at all",
        arguments: [
            (Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8), "HTTP"),
            (Array("SSH-2.0-OpenSSH_9.2\r\n".utf8), "SSH"),
        ] as [([UInt8], String)]
    )
    func strangers(greeting: [UInt8], words: String) async throws {
        let server = try await ScriptedServer.start(script: [.receive(1), .send(greeting), .close])
        try await expectRefusal(server.url, .wrongServer, words)
        await server.stop()
    }

    @Test("one that closes without a word, and one that says nothing, are told apart")
    func wordless() async throws {
        let closing = try await ScriptedServer.start(script: [.receive(1), .close])
        let redis = try client(closing.url)
        let closed = await #expect(throws: RedisError.self) { try await redis.ping() }
        #expect(closed?.code == .connectionLost && closed?.message.contains("before its first reply") == true)
        await redis.shutDown()
        await closing.stop()
        let silent = try await ScriptedServer.start(script: [.hang])
        var late: RedisError?
        // With more time where this process stood still before it had a connection.
        for limit in [2, 6, 18] where late?.message.hasPrefix("connected") != true {
            let waiting = try client(silent.url) { $0.connectTimeout = .seconds(limit) }
            late = await #expect(throws: RedisError.self) { try await waiting.ping() }
            await waiting.shutDown()
        }
        #expect(late?.code == .connectionFailed && late?.message.hasPrefix("connected, but not answered") == true)
        await silent.stop()
    }

    @Test("a replica is read, and one warning says that it is one")
    func replica() async throws {
        try await RedisServer.withServer(.init(directives: ["replicaof 127.0.0.1 1"])) { server in
            let redis = try client(server.url)
            #expect(try await redis.get("k") == nil)
            let error = await #expect(throws: RedisError.self) { try await redis.set("k", [1]) }
            #expect(error?.serverCode == "READONLY")
            await redis.shutDown()
            #expect(warnings.count { $0.contains("the server is a replica") } == 1)
        }
    }

    @Test(
        "one that is too old, or does not say what it is, is used, and one warning says so",
        arguments: [
            ("-ERR unknown command `HELLO`, with args beginning with: `2`, \r\n", "does not know HELLO"),
            (
                "*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n6.0.16\r\n$4\r\nrole\r\n$6\r\nmaster\r\n",
                "older than"
            ),
        ]
    )
    func old(answer: String, words: String) async throws {
        let server = try await ScriptedServer.start(answering: { command, _ in
            switch command[0] {
            case "HELLO": [.send(text: answer)]
            case "PING": [.send(text: "+PONG\r\n")]
            case "GET": [.close]
            default: [.send(text: "+OK\r\n")]
            }
        })
        let redis = try client(server.url)
        try await redis.ping()
        // Again, over another connection.
        _ = try? await redis.get("k")
        while (try? await redis.ping()) == nil { try await nextTurn() }
        await redis.shutDown()
        #expect(warnings.count { $0.contains(words) } == 1, "\(log.lines)")
        await server.stop()
    }
}
