import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A set that failed and arrives late undoes nothing", .timeLimit(.minutes(5)))
struct LateWriteTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func level(_ redis: RedisClient, _ coherence: Coherence = .tracking) -> RedisLevel<String, String> {
        RedisLevel(redis, keyspace: keyspace, codec: .text, coherence: coherence)
    }

    /// A writer whose link can be frozen, and another that changes the same keys.
    private struct Fleet {
        let proxy: FaultProxy
        let writer: RedisLevel<String, String>
        let other: RedisLevel<String, String>
    }

    private func fleet(of server: RedisServer, budget: Duration) async throws -> Fleet {
        let proxy = try await FaultProxy.start(to: server.endpoint)
        var configuration = try RedisConfiguration(url: proxy.url)
        configuration.redisBudget = budget
        configuration.commandTimeout = budget
        configuration.connectTimeout = .seconds(20)
        configuration.linkPingTimeout = .seconds(60)
        configuration.healthWindow = .seconds(8)
        configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
        let fleet = Fleet(
            proxy: proxy,
            writer: level(try RedisClient(configuration)),
            other: level(try TestServer.client(of: server))
        )
        // All that a write asks for is known before the link freezes, and the server has the script.
        try await fleet.other.set("first", for: "k")
        try await fleet.writer.listens()
        while (try? await fleet.writer.serverClock.offset()) == nil { try await nextTurn() }
        return fleet
    }

    /// Lets the frozen bytes arrive, and returns when the server has run them.
    private func thaw(_ fleet: Fleet, writes: Int) async throws {
        let calls = try await fleet.other.redis.calls(of: "evalsha")
        try fleet.proxy.heal()
        while try await fleet.other.redis.calls(of: "evalsha") < calls + writes { try await nextTurn() }
    }

    @Test("its bytes are frozen on the way until others have changed the value: theirs stays")
    func frozen() async throws {
        try await RedisServer.withServer { server in
            let fleet = try await fleet(of: server, budget: .seconds(20))
            let keys = ["a", "b", "c"]
            fleet.proxy.stall(.toServer, of: .live)
            try fleet.proxy.admit(.refuse)
            await withTaskGroup(of: Void.self) { group in
                for key in keys {
                    group.addTask {
                        await #expect(throws: RedisError.self) { try await fleet.writer.set("late", for: key) }
                    }
                }
            }
            #expect(fleet.writer.redis.outageStatistics.pendingInvalidations == 3)
            // Over a new connection, and not before what is frozen would be refused.
            try fleet.proxy.admit(.accept)
            while fleet.writer.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            #expect(fleet.writer.redis.outageStatistics.replayedInvalidations == 3)
            for key in keys { try await fleet.other.set("newer", for: key) }
            try await thaw(fleet, writes: 3)
            for key in keys { #expect(try await fleet.other.get(key) == "newer") }
            await fleet.proxy.stop()
        }
    }

    @Test("it is sent again over a new connection: the first bytes, which arrive later, do not count")
    func twice() async throws {
        try await RedisServer.withServer { server in
            let fleet = try await fleet(of: server, budget: .seconds(20))
            fleet.proxy.stall(.toServer, of: .live)
            try await fleet.writer.set("mine", for: "k")
            #expect(try await fleet.other.get("k") == "mine")
            try await fleet.other.set("newer", for: "k")
            try await thaw(fleet, writes: 1)
            #expect(try await fleet.other.get("k") == "newer")
            await fleet.proxy.stop()
        }
    }

    @Test("a lease is asked for again: the first question, which arrives after a removal, does not bring it back")
    func lease() async throws {
        try await RedisServer.withServer { server in
            let fleet = try await fleet(of: server, budget: .seconds(20))
            let gate = AsyncGate()
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let fetching = fleet.writer.fetching(options) { _ in
                try await gate.pass()
                return "old"
            }
            fleet.proxy.stall(.toServer, of: .live)
            let read = Task { try await fetching.get("cold", ReadOptions(skipsReading: [.redis])) }
            await gate.arrivals()
            try await fleet.other.remove("cold")
            let name = keyspace.names(for: "cold".keyBytes).lease
            #expect(try await fleet.other.redis.exists(name) == 0)
            try fleet.proxy.heal()
            // The frozen call takes the lease for no caller.
            while try await fleet.other.redis.exists(name) == 0 { try await nextTurn() }
            gate.open()
            #expect(try await read.value == "old")
            #expect(fleet.writer.statistics.stores == 0)
            #expect(try await fleet.other.get("cold") == nil)
            await fleet.proxy.stop()
        }
    }

    @Test(
        "an update where there was no value is sent again: the first bytes, which arrive after a removal, do not count"
    )
    func update() async throws {
        try await RedisServer.withServer { server in
            let fleet = try await fleet(of: server, budget: .seconds(20))
            _ = try await fleet.writer.update("warm") { _ in "value" }
            _ = try await fleet.writer.update("cold") { old in
                fleet.proxy.stall(.toServer, of: .live)
                return (old ?? "") + "mine"
            }
            #expect(try await fleet.other.get("cold") == "mine")
            try await fleet.other.remove("cold")
            try await thaw(fleet, writes: 1)
            #expect(try await fleet.other.get("cold") == nil)
            await fleet.proxy.stop()
        }
    }

    @Test("a removal that has to wait for late bytes holds up no other")
    func order() {
        var pending = PendingInvalidations(limit: 10)
        let start = MonotonicInstant(nanoseconds: 0)
        let (one, two) = (keyspace.names(for: "one".keyBytes), keyspace.names(for: "two".keyBytes))
        pending.record(
            .key(one, keyspace),
            .write,
            at: start,
            for: .seconds(10),
            notBefore: start.advanced(by: .seconds(2))
        )
        #expect(pending.firstDue == start.advanced(by: .seconds(2)))
        pending.record(.key(two, keyspace), .removal, at: start, for: .seconds(10))
        #expect(pending.firstDue == .distantPast)
        // A removal that fails later does not make the wait shorter.
        pending.record(.key(one, keyspace), .removal, at: start, for: .seconds(10))
        #expect(pending.inOrder.map(\.notBefore).max() == start.advanced(by: .seconds(2)))
    }

    @Test("the server's clock was set forward: a reading tells, and the write is sent again")
    func clockSet() async throws {
        let times = Locked([1_000, 5_000])
        let writes = Locked<[Int]>([])
        let server = try await ScriptedServer.start(answering: { command, _ in
            switch command.first {
            case "TIME":
                let seconds = times.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                return [.send(text: "*2\r\n$4\r\n\(seconds)\r\n$1\r\n0\r\n")]
            case "EVALSHA":
                let until = command.last.flatMap { Int($0) } ?? 0
                writes.withLock { $0.append(until) }
                return [.send(text: until > 4_000_000 ? ":1\r\n" : ":0\r\n")]
            case "HMGET": return [.send(text: "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$-1\r\n")]
            default: return [.send(text: "+PONG\r\n")]
            }
        })
        let level = level(try TestServer.client(of: server.url), .none)
        try await level.set("value", for: "k")
        #expect(writes.withLock { $0.count } == 2)
        #expect(level.redis.outageStatistics.pendingInvalidations == 0)
        await server.stop()
    }
}

extension RedisClient {
    /// How often the server has run a command.
    fileprivate func calls(of command: String) async throws -> Int {
        let text = try await info("commandstats")["cmdstat_\(command)"] ?? "calls=0,"
        return Int(text.dropFirst("calls=".count).prefix { $0 != "," }) ?? 0
    }
}
