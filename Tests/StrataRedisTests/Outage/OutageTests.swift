import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// The most that have run at once.
private final class Crowd: Sendable {
    private let state = Locked((now: 0, most: 0, all: 0))

    var most: Int { state.withLock { $0.most } }
    var all: Int { state.withLock { $0.all } }

    func visit(_ body: () async throws -> Void) async throws {
        state.withLock { state in
            state.now += 1
            state.all += 1
            state.most = max(state.most, state.now)
        }
        defer { state.withLock { $0.now -= 1 } }
        try await body()
    }
}

@Suite("An outage is a miss", .leavesNothing, .timeLimit(.minutes(5)))
struct OutageTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func cache(
        _ url: String,
        _ options: LeaseOptions = LeaseOptions(),
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> FetchingLevel<String, String> {
        var configuration = try RedisConfiguration(url: url)
        configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
        configuration.breaker.pause = .milliseconds(1) ... .milliseconds(20)
        configuration.breaker.minimumCalls = 4
        // A busy machine is no outage.
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        configuration.healthWindow = .seconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        adjust(&configuration)
        return RedisLevel<String, String>(try RedisClient(configuration), keyspace: keyspace, codec: .text)
            .fetching(options) { "source \($0)" }
    }

    private func state(_ cache: FetchingLevel<String, String>, _ role: RedisRole) -> OutageStatistics.Breaker.State? {
        cache.level.redis.outageStatistics.breakers[role]?.state
    }

    /// Asks for other keys until the breaker is in this state; every answer has to be right.
    private func ask(
        _ cache: FetchingLevel<String, String>,
        until expected: OutageStatistics.Breaker.State,
        _ role: RedisRole = .read
    ) async throws {
        var number = 0
        while state(cache, role) != expected {
            let key = "\(expected) \(number)"
            #expect(try await cache.get(key) == "source \(key)")
            number += 1
        }
    }

    @Test("every way in which a server refuses: the source answers, and the breaker opens; afterwards all is as before")
    func refusals() async throws {
        let refusals = [
            "LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with MASTER is down",
            "BUSY Redis is busy",
            "READONLY You can't write against a read only replica.",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "MISCONF Redis is configured to save RDB snapshots", "CLUSTERDOWN The cluster is down",
            "NOAUTH Authentication required.", "ERR max number of clients reached",
            "NOREPLICAS Not enough good replicas",
            "TRYAGAIN Multiple keys request during rehashing of slot",
        ]
        for refusal in refusals {
            let isRefusing = Locked(false)
            let server = try await ScriptedServer.start(answering: { command, _ in
                if isRefusing.withLock({ $0 }) { return [.send(text: "-\(refusal)\r\n")] }
                return switch command[0] {
                case "PING", "CLIENT": [.send(text: "+PONG\r\n")]
                case "TIME": [.send(text: "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n")]
                case "GET": [.send(text: "$-1\r\n")]
                default: [.send(text: "*4\r\n:2\r\n$-1\r\n:0\r\n$0\r\n\r\n")]
                }
            })
            let cache = try cache(server.endpoint.url)
            #expect(try await cache.get("before") == "source before")
            isRefusing.withLock { $0 = true }
            try await ask(cache, until: .open)
            #expect(try await cache.get("while open") == "source while open")
            isRefusing.withLock { $0 = false }
            try await ask(cache, until: .closed)
            await cache.level.redis.shutDown()
            await server.stop()
        }
    }

    @Test("a link that the server refuses again and again takes no turn from the connection for commands")
    func refusedLink() async throws {
        let server = try await ScriptedServer.start(answering: { command, _ in
            switch command[0] {
            case "HELLO", "PING": [.send(text: "+PONG\r\n")]
            case "CLIENT": [.send(text: "-NOPERM this user has no permissions\r\n")]
            default: [.send(text: "$-1\r\n"), .close]
            }
        })
        let redis = try RedisClient(.patient(server.url))
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
        let changes = level.changes()
        // Each read costs its connection, so that both come to need turns.
        for _ in 0..<12 {
            while (try? await redis.send("GET", "k")) == nil { try Task.checkCancellation() }
        }
        withExtendedLifetime(changes) {}
        await redis.shutDown()
        await server.stop()
    }

    @Test(
        "a server that stands still: the first calls wait for their budget, then none does; it is asked again when it goes on"
    )
    func standstill() async throws {
        try await RedisServer.withServer { server in
            let cache = try cache(server.url) { $0.redisBudget = .milliseconds(50) }
            // Reads as the server does when it has to, so that its own budget decides nothing here.
            try await cache.level.redis.ping()
            try await server.pause()
            try await ask(cache, until: .open)
            let refused = cache.level.redis.outageStatistics.breakers[.read]?.refusals ?? 0
            for key in 0..<100 { #expect(try await cache.get("\(key)") == "source \(key)") }
            #expect((cache.level.redis.outageStatistics.breakers[.read]?.refusals ?? 0) >= refused + 90)
            try await server.resume()
            try await ask(cache, until: .closed)
            _ = try await cache.get("stored")
            await cache.level.redis.shutDown()
        }
    }

    @Test("killed, and back with nothing or with its data: no caller notices", arguments: [true, false])
    func killed(keepingData: Bool) async throws {
        let durable = RedisServer.Configuration(directives: ["appendonly yes", "appendfsync always"])
        try await RedisServer.withServer(durable) { server in
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let cache = try cache(server.url, options) { $0.redisBudget = .seconds(20) }
            #expect(try await cache.get("k") == "source k")
            try await server.kill()
            try await ask(cache, until: .open)
            try await server.restart(keepingData: keepingData)
            try await ask(cache, until: .closed)
            #expect(try await cache.level.get("k") == (keepingData ? "source k" : nil))
            #expect(try await cache.get("k") == "source k")
            await cache.level.redis.shutDown()
        }
    }

    @Test("a server without memory: what it has is still served, what it has not comes from the source, removals work")
    func outOfMemory() async throws {
        try await RedisServer.withServer { server in
            let cache = try cache(server.url, .lasting) { $0.redisBudget = .seconds(20) }
            #expect(try await cache.get("k") == "source k")
            try await server.command("CONFIG", "SET", "maxmemory", "1")
            try await ask(cache, until: .open, .lease)
            #expect(state(cache, .read) == .closed)
            #expect(try await cache.level.get("k") == "source k")
            // So many sets fail that nothing is set any more; removals have a breaker of their own.
            while state(cache, .write) == .closed {
                try Task.checkCancellation()
                try? await cache.set("new", for: "other")
            }
            try await cache.remove("k")
            #expect(try await cache.level.get("k") == nil)
            try await server.command("CONFIG", "SET", "maxmemory", "0")
            try await ask(cache, until: .closed, .lease)
            await cache.level.redis.shutDown()
        }
    }

    @Test("a replica: reads are served, fetches are not shared; as a primary it is as before")
    func readOnly() async throws {
        try await RedisServer.withServer { server in
            let cache = try cache(server.url, .lasting) { $0.redisBudget = .seconds(20) }
            #expect(try await cache.get("k") == "source k")
            try await server.command("REPLICAOF", "127.0.0.1", "1")
            try await ask(cache, until: .open, .lease)
            #expect(try await cache.level.get("k") == "source k")
            try await server.command("REPLICAOF", "NO", "ONE")
            try await ask(cache, until: .closed, .lease)
            await cache.level.redis.shutDown()
        }
    }

    @Test("a password that is set while the service runs, connections that are killed: no caller notices")
    func passwordAndKills() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let cache = try cache(proxy.url) { $0.redisBudget = .seconds(20) }
            let names = ["normal", "pubsub", "normal", "normal"]
            for (round, type) in names.enumerated() {
                #expect(try await cache.get("kills \(round)") == "source kills \(round)")
                try await server.command("CLIENT", "KILL", "TYPE", type)
            }
            try await server.command("CONFIG", "SET", "requirepass", "new")
            proxy.resetConnections()
            for key in 0..<20 { #expect(try await cache.get("\(key)") == "source \(key)") }
            await cache.level.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("a server that starts later than the service")
    func startsLater() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            try proxy.admit(.refuse)
            let cache = try cache(proxy.url, .lasting) { $0.redisBudget = .seconds(20) }
            try await ask(cache, until: .open)
            try proxy.admit(.accept)
            try await ask(cache, until: .closed)
            #expect(try await cache.get("k") == "source k")
            #expect(try await cache.level.get("k") == "source k")
            await cache.level.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("while Redis is away no more fetches run at once than the limit says, and every caller is answered")
    func fetchLimit() async throws {
        let crowd = Crowd()
        let gate = AsyncGate()
        let redis = try TestServer.client(of: "redis://127.0.0.1:1")
        let cache = RedisLevel<Int, String>(redis, keyspace: keyspace)
            .fetching(LeaseOptions(fetchLimit: 4)) { key in
                try await crowd.visit { try await gate.pass() }
                return "source \(key)"
            }
        let tasks = (0..<200).map { key in Task { try await cache.get(key) } }
        while cache.waiting < 200 || cache.limiter.running < 4 { try await nextTurn() }
        while cache.limiter.running + cache.limiter.waiting < 200 { try await nextTurn() }
        gate.open()
        for (key, task) in tasks.enumerated() { #expect(try await task.value == "source \(key)") }
        #expect(crowd.all == 200)
        #expect(crowd.most == 4)
        #expect(redis.outageStatistics.breakers[.read]?.state != .closed)
    }

    @Test("commands that are sent directly are neither refused nor counted")
    func rawCommands() async throws {
        let redis = try TestServer.client(of: "redis://127.0.0.1:1") {
            $0.breaker.pause = .seconds(600) ... .seconds(600)
        }
        for _ in 0..<50 { await #expect(throws: RedisError.self) { try await redis.ping() } }
        #expect(!redis.outageStatistics.isImpaired)
        let level = RedisLevel<String, String>(redis, keyspace: keyspace)
        var codes: Set<RedisError.Code> = []
        for _ in 0..<50 {
            let error = await #expect(throws: RedisError.self) { try await level.get("k") }
            if let error { codes.insert(error.code) }
        }
        #expect(codes == [.connectionFailed, .circuitOpen])
        let raw = await #expect(throws: RedisError.self) { try await redis.ping() }
        #expect(raw?.code == .connectionFailed)
        #expect(level.label.counters.contains(.init("breakers_open", 1)))
    }
}
