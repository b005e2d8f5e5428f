import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A client that asks Sentinels for its server", .timeLimit(.minutes(5)))
struct SentinelClientTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func client(_ url: String, _ adjust: (inout RedisConfiguration) -> Void = { _ in }) throws -> RedisClient {
        var configuration = try RedisConfiguration(url: url)
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        configuration.reconnectDelay = .nanoseconds(1) ... .milliseconds(1)
        configuration.sentinels?.timeout = .seconds(20)
        adjust(&configuration)
        return try RedisClient(configuration)
    }

    private func port(of redis: RedisClient) async throws -> String? {
        guard case .array(let parts) = try await redis.send("CONFIG", "GET", "port") else { return nil }
        return parts.last?.string
    }

    @Test("the primary is found, whichever Sentinel is dead, does not know the name or does not exist")
    func found() async throws {
        try await RedisReplication.withSet {
            $0.downAfter = .seconds(60)
        } _: { set in
            let primary = "\(try #require(set.primary.port))"
            #expect(try await port(of: client(set.url)) == primary)
            // By one that is found out to be a Sentinel, with the name and without.
            let one = try #require(set.sentinels[0].port)
            #expect(try await port(of: client("redis://127.0.0.1:\(one)?topology=auto&master=strata")) == primary)
            #expect(try await port(of: client("redis://127.0.0.1:\(one)?topology=auto")) == primary)
            // Auto at the server itself.
            #expect(try await port(of: client("redis://127.0.0.1:\(primary)?topology=auto")) == primary)
            // Dead, unresolvable, something else, and one that knows.
            let http = try await ScriptedServer.start(script: [
                .receive(1), .send(text: "HTTP/1.1 400 x\r\n\r\n"), .close,
            ])
            let other = try #require(http.port)
            let hosts = "127.0.0.1:1,no-such-host.invalid,127.0.0.1:\(other),127.0.0.1:\(primary),127.0.0.1:\(one)"
            #expect(try await port(of: client("redis-sentinel://\(hosts)/?master=strata")) == primary)
            // As many as there may be, and most of them names of nothing.
            let many = (0..<63).map { "no-such-host-\($0).invalid" } + ["127.0.0.1:\(one)"]
            let patient = try client("redis-sentinel://\(many.joined(separator: ","))/?master=strata") {
                // A name may take as long, and eight are asked for at a time.
                $0.sentinels?.timeout = .seconds(5)
            }
            while (try? await patient.ping()) == nil { try await nextTurn() }
            await http.stop()
            // All dead: those who stand go on.
            let standing = try client(set.url)
            try await standing.set("k", [1])
            for sentinel in set.sentinels { try await sentinel.kill() }
            #expect(try await standing.get("k") == [1])
            let error = await #expect(throws: RedisError.self) { try await client(set.url).ping() }
            #expect(error?.code == .noPrimary)
            for sentinel in set.sentinels {
                #expect(error?.message.contains("127.0.0.1:\(sentinel.port ?? 0) cannot be asked") == true)
            }
        }
    }

    @Test("a name that none knows is an error that names them all")
    func wrongName() async throws {
        try await RedisReplication.withSet { set in
            let error = await #expect(throws: RedisError.self) {
                try await client(set.url.replacing("master=strata", with: "master=other")).ping()
            }
            #expect(error?.code == .noPrimary)
            for sentinel in set.sentinels {
                #expect(error?.message.contains("127.0.0.1:\(sentinel.port ?? 0) knows no primary") == true)
            }
        }
    }

    @Test("Sentinels and servers with passwords of their own, and host names")
    func passwords() async throws {
        try await RedisReplication.withSet {
            $0.sentinelPassword = "guard"
            $0.server.credentials = .init(password: "data")
            $0.usesHostNames = true
            $0.downAfter = .seconds(60)
        } _: { set in
            let url = set.url.replacing("redis-sentinel://", with: "redis-sentinel://:data@")
            let redis = try client(url + "&sentinelPassword=guard")
            #expect(try await port(of: redis) == "\(try #require(set.primary.port))")
            let one = try #require(set.sentinels[0].port)
            let auto = try client("redis://:data@127.0.0.1:\(one)?topology=auto&sentinelPassword=guard")
            #expect(try await port(of: auto) == "\(try #require(set.primary.port))")
            for wrong in [url, url + "&sentinelPassword=data"] {
                let error = await #expect(throws: RedisError.self) { try await client(wrong).ping() }
                #expect(error?.code == .authentication)
                #expect(error.map { "\($0)".contains("guard") || "\($0)".contains("data") } == false)
            }
            let error = await #expect(throws: RedisError.self) {
                try await client(set.url + "&sentinelPassword=guard").ping()
            }
            #expect(error?.code == .authentication && error?.message.contains("Sentinel") == false)
        }
    }

    @Test("a server that is named as the primary and calls itself a replica is not written to")
    func replica() async throws {
        let server = try await RedisServer.start(.init(directives: ["replicaof 127.0.0.1 1"]))
        let port = try #require(server.port)
        let sentinel = try await FakeSentinel.start { _ in (port, 0) }
        let redis = try client("redis-sentinel://127.0.0.1:\(sentinel.port ?? 0)/?master=m")
        let error = await #expect(throws: RedisError.self) { try await redis.set("k", [1]) }
        #expect(error?.code == .noPrimary && error?.message.contains("replica") == true)
        #expect(error?.endpoint == "127.0.0.1:\(port)")
        // Promoted, it is used, though no Sentinel told the client.
        try await server.command("REPLICAOF", "NO", "ONE")
        while (try? await redis.set("k", [1])) == nil { try await nextTurn() }
        await redis.shutDown()
        await sentinel.stop()
        try await server.stop()
    }

    @Test("a write that is refused as by a replica leads to another search, without any hint")
    func readOnly() async throws {
        let (old, new) = try await (RedisServer.start(), RedisServer.start())
        let (oldPort, newPort) = try (#require(old.port), #require(new.port))
        let isOver = Locked(false)
        let asked = Locked(0)
        let sentinel = try await FakeSentinel.start { _ in
            asked.withLock { $0 += 1 }
            return isOver.withLock { $0 } ? (newPort, 1) : (oldPort, 0)
        }
        let redis = try client("redis-sentinel://127.0.0.1:\(sentinel.port ?? 0)/?master=m")
        try await redis.set("k", [1])
        // Once to connect, and once when failovers begin to be told; each time for the address and for the number.
        while asked.withLock({ $0 }) < 4 { try await nextTurn() }
        try await old.command("REPLICAOF", "127.0.0.1", "\(newPort)")
        let error = await #expect(throws: RedisError.self) { try await redis.set("k", [2]) }
        #expect(error?.serverCode == "READONLY" && error?.effect == .notApplied)
        // Not before: who listens asks again as well, whenever its connection is lost.
        isOver.withLock { $0 = true }
        while (try? await redis.set("other", [3])) == nil { try await nextTurn() }
        #expect(try await new.command("EXISTS", "other").integer == 1)
        await redis.shutDown()
        await sentinel.stop()
        for server in [old, new] { try await server.stop() }
    }

    @Test(
        "a failover that was told is looked for again when no Sentinel can say more, or all say what was known",
        arguments: [false, true]
    )
    func hintKept(isLagging: Bool) async throws {
        let (old, new) = try await (RedisServer.start(), RedisServer.start())
        let (oldPort, newPort) = try (#require(old.port), #require(new.port))
        let asked = Locked(0)
        // It is asked twice to connect, and when failovers begin to be told; the old primary is healthy and says
        // nothing.
        let sentinel = try await FakeSentinel.start { _ in
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            return count <= 2 ? (oldPort, 0) : count > 4 ? (newPort, 1) : isLagging ? (oldPort, 0) : nil
        }
        let hosts = "127.0.0.1:\(sentinel.port ?? 0)" + (isLagging ? ",127.0.0.1:1" : "")
        let redis = try client("redis-sentinel://\(hosts)/?master=m")
        while try await new.command("EXISTS", "k").integer == 0 {
            _ = try? await redis.set("k", [1])
            try await nextTurn()
        }
        await redis.shutDown()
        await sentinel.stop()
        for server in [old, new] { try await server.stop() }
    }

    /// A primary and an old one that is healthy, and Sentinels of which one knows the new one, unless it is cut off.
    private struct LaggingSentinels {
        let old, new: RedisServer
        let redis: RedisClient
        let isCutOff: Shared<Bool>
    }

    /// Runs a test with Sentinels that lag behind; its client knows the new primary.
    private func withLagging(
        _ count: Int,
        silent: String = "",
        _ body: (LaggingSentinels) async throws -> Void
    ) async throws {
        let (old, new) = try await (RedisServer.start(), RedisServer.start())
        let (oldPort, newPort) = try (#require(old.port), #require(new.port))
        let (isCutOff, isKnown) = (Shared(false), Shared(false))
        var sentinels = [try await FakeSentinel.start { _ in isCutOff.withLock { $0 } ? nil : (newPort, 5) }]
        // Not before the new primary is known: by chance they would be the only ones to answer in time.
        for _ in 0..<count {
            sentinels.append(try await FakeSentinel.start { _ in isKnown.withLock { $0 } ? (oldPort, 4) : nil })
        }
        let hosts = sentinels.map { "127.0.0.1:\($0.port ?? 0)" }.joined(separator: ",")
        let redis = try client("redis-sentinel://\(hosts)\(silent)/?master=m")
        try await redis.set("k", [1])
        isKnown.withLock { $0 = true }
        isCutOff.withLock { $0 = true }
        try await body(LaggingSentinels(old: old, new: new, redis: redis, isCutOff: isCutOff))
        await redis.shutDown()
        for sentinel in sentinels { await sentinel.stop() }
        for server in [old, new] { try await server.stop() }
    }

    @Test("a Sentinel that lags behind leads no connection back to the old primary")
    func outdated() async throws {
        try await withLagging(1, silent: ",127.0.0.1:1") { set in
            // What was found a moment ago may serve once more.
            var isRefused = false
            while !isRefused {
                try await set.new.command("CLIENT", "KILL", "TYPE", "normal")
                do { try await set.redis.set("k", [2]) } catch let error as RedisError {
                    isRefused = error.code == .noPrimary
                }
            }
            #expect(try await set.old.command("EXISTS", "k").integer == 0)
            set.isCutOff.withLock { $0 = false }
            while (try? await set.redis.set("k", [3])) == nil { try await nextTurn() }
            #expect(try await set.old.command("EXISTS", "k").integer == 0)
        }
    }

    @Test("led back by a majority that lags behind, a client returns to the primary, although the old one is healthy")
    func outvoted() async throws {
        try await withLagging(2) { set in
            while try await set.old.command("EXISTS", "k").integer == 0 {
                try await set.new.command("CLIENT", "KILL", "TYPE", "normal")
                _ = try? await set.redis.set("k", [2])
            }
            set.isCutOff.withLock { $0 = false }
            while try await set.new.command("EXISTS", "back").integer == 0 {
                _ = try? await set.redis.set("back", [3])
                try await nextTurn()
            }
        }
    }

    @Test("a Sentinel that floods us with failovers causes a few searches, and changes nothing")
    func flood() async throws {
        try await RedisServer.withServer { server in
            let port = try #require(server.port)
            let sentinel = try await FakeSentinel.start(flooding: 10_000) { _ in (port, 0) }
            let redis = try client("redis-sentinel://127.0.0.1:\(sentinel.port ?? 0)/?master=m")
            let began = MonotonicInstant.now
            for number in 0..<200 { try await redis.set("k", [UInt8(number)]) }
            #expect(try await redis.get("k") == [199])
            // One to begin with, one that listens, and at most one each 100 ms.
            #expect(sentinel.snapshot.accepted <= 4 + Int(began.duration(to: .now) / .milliseconds(100)))
            let clients = try await server.command("CLIENT", "LIST").text.split(separator: "\n")
            #expect(clients.count { $0.contains("name=strata") } == 1)
            await redis.shutDown()
            await sentinel.stop()
        }
    }
}

/// A Sentinel that answers what a test wants it to.
enum FakeSentinel {
    /// Starts one that tells of `count` failovers whoever subscribes, and answers with the port of the primary and the
    /// number of the configuration, or hangs up.
    static func start(
        flooding count: Int = 0,
        _ answer: @escaping @Sendable (String) -> (port: UInt16, epoch: Int)?
    ) async throws -> ScriptedServer {
        @Sendable func list(_ words: [String]) -> String {
            "*\(words.count)\r\n" + words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
        }
        return try await ScriptedServer.start(answering: { command, _ in
            switch (command[0], command.count > 1 ? command[1] : "") {
            case ("HELLO", _): return [.send(text: list(["server", "redis", "version", "7.0.15", "mode", "sentinel"]))]
            case ("SENTINEL", "GET-MASTER-ADDR-BY-NAME"):
                guard let primary = answer(command[2]) else { return [.close] }
                return [.send(text: list(["127.0.0.1", "\(primary.port)"]))]
            case ("SENTINEL", "MASTER"):
                return [.send(text: list(["name", command[2], "config-epoch", "\(answer(command[2])?.epoch ?? 0)"]))]
            case ("SUBSCRIBE", let channel):
                let flood = list(["message", channel, "m 10.0.0.1 1 10.0.0.2 2"])
                return [.send(text: list(["subscribe", channel, "1"]) + String(repeating: flood, count: count))]
            case ("PING", _): return [.send(text: list(["pong", ""]))]
            default: return [.send(text: "+OK\r\n")]
            }
        })
    }
}
