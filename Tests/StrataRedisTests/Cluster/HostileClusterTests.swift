import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// Nodes that tell what no cluster would.
@Suite("Clusters that mislead", .timeLimit(.minutes(5)))
struct HostileClusterTests {
    /// A node that answers CLUSTER SHARDS, and commands about keys, as it is told; an empty answer ends the connection.
    private func node(
        shards: @escaping @Sendable (ScriptedPort) -> String,
        slots: (@Sendable (ScriptedPort) -> String)? = nil,
        answer: @escaping @Sendable (_ command: [String], ScriptedPort) -> String
    ) async throws -> (ScriptedServer, ScriptedPort) {
        let port = ScriptedPort()
        let server = try await ScriptedServer.start(answering: { command, _ in
            switch (command[0], command.dropFirst().first) {
            case ("PING", nil): return [.send(text: "+PONG\r\n")]
            case ("PING", let text?): return [.send(text: Self.bulk(text))]
            case ("HELLO", _): return [.send(text: "-ERR unknown command 'HELLO'\r\n")]
            case ("CLIENT", _): return [.send(text: "+OK\r\n")]
            case ("ASKING", _): return [.send(text: "+OK\r\n")]
            case ("CLUSTER", "INFO"):
                let text = "cluster_state:ok\r\ncluster_current_epoch:1\r\n"
                return [.send(text: "$\(text.utf8.count)\r\n\(text)\r\n")]
            case ("CLUSTER", "SLOTS"): return [.send(text: (slots ?? shards)(port))]
            case ("CLUSTER", _): return [.send(text: shards(port))]
            default:
                let text = answer(command, port)
                return text.isEmpty ? [.close] : [.send(text: text)]
            }
        })
        port.set(try #require(server.endpoint.port))
        return (server, port)
    }

    private func client(_ port: ScriptedPort, timeout: Duration = .seconds(20)) throws -> RedisClient {
        var configuration = try RedisConfiguration(cluster: [.tcp(host: "127.0.0.1", port: port.value)])
        configuration.commandTimeout = timeout
        configuration.connectTimeout = .seconds(20)
        // A connection that waits on a busy machine is not made anew, which would be one attempt more.
        configuration.healthWindow = .seconds(60)
        return try RedisClient(configuration)
    }

    private static func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

    private static func shard(_ first: Int, _ last: Int, _ host: String, _ port: UInt16) -> String {
        "*4\r\n" + bulk("slots") + "*2\r\n:\(first)\r\n:\(last)\r\n" + bulk("nodes") + "*1\r\n*6\r\n" + bulk("endpoint")
            + bulk(host) + bulk("port") + ":\(port)\r\n" + bulk("role") + bulk("master")
    }

    /// A cluster of this node alone.
    private static func whole(_ port: ScriptedPort) -> String {
        "*1\r\n" + shard(0, 16_383, "127.0.0.1", port.value)
    }

    @Test(
        "where the newer form leaves out slots, the older is asked for, and believed if there is one",
        arguments: [true, false]
    )
    func gaps(hasSlots: Bool) async throws {
        let slots: @Sendable (ScriptedPort) -> String = { port in
            guard hasSlots else { return "-NOPERM this user has no permissions to run the 'cluster|slots' command\r\n" }
            return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + Self.bulk("127.0.0.1") + ":\(port.value)\r\n"
        }
        let (server, port) = try await node(
            shards: { "*1\r\n" + Self.shard(0, 9_000, "127.0.0.1", $0.value) },
            slots: slots
        ) { command, _ in Self.bulk(command[1]) }
        let redis = try client(port)
        let known = try #require((0...).lazy.map { "k\($0)" }.first { HashSlot.of(RedisKey($0)) < 9_000 })
        #expect(try await redis.get(RedisKey(known)) == Array(known.utf8))
        if hasSlots {
            #expect(try await redis.get("a") == Array("a".utf8))
        } else {
            await #expect(throws: RedisError.self) { try await redis.get("a", timeout: .seconds(2)) }
        }
        await redis.shutDown()
        await server.stop()
    }

    @Test("a node that sends calls to itself for ever: a clear error, after a few hops")
    func loop() async throws {
        let hops = Shared(0)
        let (server, port) = try await node(shards: Self.whole) { _, port in
            hops.withLock { $0 += 1 }
            return "-MOVED 15495 127.0.0.1:\(port.value)\r\n"
        }
        let redis = try client(port)
        let error = await #expect(throws: RedisError.self) { try await redis.get("a") }
        #expect(error?.code == .tooManyRedirects && error?.effect == .notApplied)
        #expect(hops.withLock { $0 } == (ClusterRouter.mostHops + 1) * (ClusterRouter.mostDetours + 1))
        await redis.shutDown()
        await server.stop()
    }

    @Test(
        "nodes that point to each other for a moment, while a slot is handed over: the call waits for their agreement"
    )
    func disagreement() async throws {
        let hops = Shared(0)
        let (server, port) = try await node(shards: Self.whole) { _, port in
            let number = hops.next()
            return number <= 2 * ClusterRouter.mostHops ? "-MOVED 15495 :\(port.value)\r\n" : "$1\r\nx\r\n"
        }
        let redis = try client(port)
        #expect(try await redis.get("a") == Array("x".utf8))
        await redis.shutDown()
        await server.stop()
    }

    @Test("a connection of a node whose slot is another's by now is not used, whether that node is still there or not")
    func ordered() async throws {
        let map = Shared("")
        let shards: @Sendable (ScriptedPort) -> String = { _ in map.withLock { $0 } }
        let (one, first) = try await node(shards: shards) { _, _ in "$1\r\n1\r\n" }
        let (other, second) = try await node(shards: shards) { _, _ in "$1\r\n2\r\n" }
        map.withLock { $0 = Self.whole(first) }
        let redis = try client(first)
        let slot = HashSlot.of("a" as RedisKey)
        #expect(try await redis.get("a") == Array("1".utf8))
        let connection = try #require(redis.orderedConnection(for: "a"))
        map.withLock { $0 = Self.whole(second) }
        weak var left: RedisClient?
        do {
            let node = try #require(redis.cluster?.node(of: slot)?.existing)
            left = node
            #expect(node.connections.contains { $0 === connection })
            while redis.cluster?.node(of: slot)?.existing === node || redis.cluster?.node(of: slot) == nil {
                redis.cluster?.refresh()
                try await nextTurn()
            }
            #expect(try await Self.get("a", redis, on: connection) == ["2", "2"])
            withExtendedLifetime(node) {}
        }
        while left != nil { try await nextTurn() }
        #expect(try await Self.get("a", redis, on: connection) == ["2", "2"])
        await redis.shutDown()
        for server in [one, other] { await server.stop() }
    }

    /// What a call and a post read that are to go over a connection.
    private static func get(_ key: RedisKey, _ redis: RedisClient, on connection: Connection) async throws -> [String?]
    {
        @Sendable func encode(_ writer: inout CommandWriter) {
            writer.begin(2)
            writer.argument("GET" as StaticString)
            writer.argument(key)
        }
        let slot = HashSlot.of(key)
        let called = try await redis.execute(.once, slot: slot, on: connection, encode: encode)
        let posted = try await withCheckedThrowingContinuation { continuation in
            redis.post(deadline: .now.advanced(by: .seconds(20)), slot: slot, on: connection) {
                continuation.resume(with: $0)
            } encode: {
                encode(&$0)
            }
        }
        return [called.string, posted.string]
    }

    @Test("a lease whose slot has moved meanwhile is given back where it lies now")
    func leaseMoves() async throws {
        let map = Shared("")
        let ended = Shared(0)
        let shards: @Sendable (ScriptedPort) -> String = { _ in map.withLock { $0 } }
        let place = Shared<UInt16>(0)
        let (one, first) = try await node(shards: shards) { command, _ in
            command[0] == "EVALSHA" ? "*4\r\n:2\r\n$-1\r\n:0\r\n$-1\r\n" : "-MOVED 15495 :\(place.withLock { $0 })\r\n"
        }
        let (other, second) = try await node(shards: shards) { command, _ in
            if command[0] == "EVAL" { ended.withLock { $0 += 1 } }
            return ":1\r\n"
        }
        place.withLock { $0 = second.value }
        map.withLock {
            $0 =
                "*2\r\n" + Self.shard(0, 16_000, "127.0.0.1", first.value)
                + Self.shard(16_001, 16_383, "127.0.0.1", second.value)
        }
        let redis = try client(first)
        _ = try await redis.cluster?.view(by: .now.advanced(by: .seconds(20)))
        let names = KeyNames(value: "a", lease: "{a}:lease")
        let answer = try await Lease.readOrLead(redis, "products", names, duration: .seconds(20), replacing: nil)
        guard case .leads(let lease, _) = answer else {
            Issue.record("no lease")
            return
        }
        lease.leave()
        while ended.withLock({ $0 }) == 0 { try await nextTurn() }
        await redis.shutDown()
        for server in [one, other] { await server.stop() }
    }

    @Test(
        "of the invalidations of a node that does not serve them one is tried at a time; another node's are carried out"
    )
    func repetitions() async throws {
        let map = Shared("")
        let shards: @Sendable (ScriptedPort) -> String = { _ in map.withLock { $0 } }
        let (one, first) = try await node(shards: shards) { command, _ in
            command[0].hasPrefix("EVAL") ? "" : "$-1\r\n"
        }
        let (other, second) = try await node(shards: shards) { command, _ in
            command[0].hasPrefix("EVAL") ? ":1\r\n" : "$-1\r\n"
        }
        map.withLock {
            $0 =
                "*2\r\n" + Self.shard(0, 8_191, "127.0.0.1", first.value)
                + Self.shard(8_192, 16_383, "127.0.0.1", second.value)
        }
        let redis = try client(first)
        _ = try await redis.get("a")
        let keyspace: Keyspace = "products"
        let names = (0..<1_000).map { keyspace.names(for: Array("\($0)".utf8), isDivided: true) }
        let ofFirst = names.filter { HashSlot.of($0.value) < 8_192 }.prefix(300)
        let ofSecond = try #require(names.first { HashSlot.of($0.value) >= 8_192 })
        for names in ofFirst + [ofSecond] {
            redis.outage.replay.record(.key(names, keyspace), .removal, for: .seconds(60), redis)
        }
        while redis.outageStatistics.replayedInvalidations == 0 { try await nextTurn() }
        #expect(redis.outageStatistics.pendingInvalidations == 300)
        // The other node's may be over before this one's have come.
        try await one.wait { snapshot in
            snapshot.received.keys.contains { snapshot.text(of: $0).contains("\r\nEVAL") }
        }
        // Each attempt is sent three times at most, for its connection is lost. What is sent counts, read or not.
        let snapshot = one.snapshot
        let sent = snapshot.received.keys.reduce(0) { $0 + snapshot.text(of: $1).ranges(of: "\r\nEVAL").count }
        #expect((1..<100).contains(sent))
        await redis.shutDown()
        for server in [one, other] { await server.stop() }
    }

    @Test(
        "a call that may have been run, and is refused when it is sent again: the error says that it may have been run"
    )
    func ambiguous() async throws {
        let calls = Shared(0)
        let (server, port) = try await node(shards: Self.whole) { _, _ in
            let number = calls.next()
            return number == 1 ? "" : "-LOADING Redis is loading the dataset in memory\r\n"
        }
        let redis = try client(port)
        let error = await #expect(throws: RedisError.self) { try await redis.get("a") }
        #expect(error?.serverCode == "LOADING")
        #expect(error?.effect == .ambiguous)
        #expect(calls.withLock { $0 } == 2)
        await redis.shutDown()
        await server.stop()
    }

    @Test("a node that names ever new nodes: their number is bounded")
    func strays() async throws {
        let count = Shared(1)
        let (server, port) = try await node(shards: Self.whole) { _, _ in
            let number = count.next()
            return "-MOVED 15495 127.0.0.1:\(number)\r\n"
        }
        let redis = try client(port, timeout: .seconds(2))
        var codes: Set<RedisError.Code> = []
        for number in 0..<60 {
            do { _ = try await redis.get(RedisKey("\(number)")) } catch let error as RedisError {
                codes.insert(error.code)
            }
        }
        #expect(codes.isSubset(of: [.tooManyRedirects, .connectionFailed, .connectionLost, .timeout]))
        #expect(try #require(redis.cluster).state.withLock { $0.strays.count } <= ClusterRouter.mostStrays + 1)
        await redis.shutDown()
        await server.stop()
    }

    @Test("nodes that take connections and do not answer: further ones are asked beside them")
    func silent() async throws {
        let silent = try await ScriptedServer.start(script: [.hang])
        let (server, port) = try await node(shards: Self.whole) { _, _ in "$1\r\nx\r\n" }
        let place = RedisEndpoint.tcp(host: "127.0.0.1", port: try #require(silent.endpoint.port))
        var configuration = try RedisConfiguration(
            cluster: [place, .tcp(host: "localhost", port: try #require(silent.endpoint.port))]
                + [.tcp(host: "127.0.0.1", port: port.value)]
        )
        // Longer than the call may take.
        configuration.connectTimeout = .seconds(600)
        configuration.commandTimeout = .seconds(30)
        let redis = try RedisClient(configuration)
        #expect(try await redis.get("a") == Array("x".utf8))
        await redis.shutDown()
        for server in [silent, server] { await server.stop() }
    }

    @Test("maps that make no sense are refused with a clear error; one that names silent nodes serves the others")
    func maps() async throws {
        let senseless = [
            "*0\r\n", "+OK\r\n", ":1\r\n", "$3\r\nabc\r\n", "*1\r\n*0\r\n",
            "*1\r\n" + Self.shard(0, 16_383, "no host", 1),
            "*2000\r\n" + (0..<2_000).map { Self.shard($0, $0, "h\($0)", 1) }.joined(),
        ]
        for reply in senseless {
            let (server, port) = try await node(shards: { _ in reply }) { _, _ in "$-1\r\n" }
            let redis = try client(port)
            let error = await #expect(throws: RedisError.self) { try await redis.get("a") }
            #expect(error?.code == .protocolViolation || error?.code == .connectionLost, "\(reply.prefix(40))")
            await redis.shutDown()
            await server.stop()
        }
        // "a" is in slot 15495, "b" in 3300.
        let (server, port) = try await node(shards: {
            "*2\r\n" + Self.shard(0, 8_000, "no-such-host.invalid", 6379)
                + Self.shard(9_000, 16_383, "127.0.0.1", $0.value)
        }) { _, _ in "$1\r\nx\r\n" }
        let redis = try client(port)
        #expect(try await redis.get("a") == Array("x".utf8))
        let nowhere = await #expect(throws: RedisError.self) { try await redis.get("b", timeout: .seconds(2)) }
        #expect(nowhere?.code == .connectionFailed || nowhere?.code == .timeout)
        let unserved = await #expect(throws: RedisError.self) {
            try await redis.get(RedisKey(TestCluster.key("k", in: 8_500)), timeout: .milliseconds(200))
        }
        #expect(unserved?.serverCode == "CLUSTERDOWN")
        await redis.shutDown()
        await server.stop()
    }

    @Test("TRYAGAIN and CLUSTERDOWN are waited out within the deadline, and thrown after it")
    func waitedOut() async throws {
        let left = Shared(3)
        let (server, port) = try await node(shards: Self.whole) { command, _ in
            if command.last == "never" { return "-CLUSTERDOWN The cluster is down\r\n" }
            let isOver = left.withLock { left in
                left -= 1
                return left < 0
            }
            return isOver ? "$1\r\nx\r\n" : left.withLock { $0 } == 2 ? "-TRYAGAIN\r\n" : "-CLUSTERDOWN\r\n"
        }
        let redis = try client(port)
        #expect(try await redis.get("a") == Array("x".utf8))
        var error: RedisError?
        // The last attempt may be one that had no time left for its answer.
        repeat {
            error = await #expect(throws: RedisError.self) {
                try await redis.get("never", timeout: .seconds(2))
            }
        } while error?.code == .timeout
        #expect(error?.serverCode == "CLUSTERDOWN")
        await redis.shutDown()
        await server.stop()
    }

    @Test("a call whose slot takes long to arrive is sent there by ASK, told TRYAGAIN, and sent again until it has")
    func slowMove() async throws {
        let count = Shared(0)
        let (server, port) = try await node(shards: Self.whole) { _, port in
            let number = count.next()
            if number > 4 * ClusterRouter.mostHops { return "$1\r\nx\r\n" }
            return number.isMultiple(of: 2) ? "-TRYAGAIN\r\n" : "-ASK 15495 127.0.0.1:\(port.value)\r\n"
        }
        let redis = try client(port)
        #expect(try await redis.get("a") == Array("x".utf8))
        await redis.shutDown()
        await server.stop()
    }

    @Test("many calls that are sent elsewhere ask for the map once")
    func coalesced() async throws {
        let maps = Shared(0)
        let (server, port) = try await node(shards: { port in
            maps.withLock { $0 += 1 }
            return Self.whole(port)
        }) { command, _ in
            command.last == "0" ? "$1\r\nx\r\n" : "-CLUSTERDOWN\r\n"
        }
        let redis = try client(port)
        _ = try await redis.get("0")
        let start = MonotonicInstant.now
        let before = maps.withLock { $0 }
        await withTaskGroup(of: Void.self) { group in
            for number in 1...200 {
                group.addTask { _ = try? await redis.get(RedisKey("\(number)"), timeout: .milliseconds(300)) }
            }
        }
        // Both within the time that is measured, in which the map is asked for by itself, too.
        let asked = maps.withLock { $0 } - before
        let seconds = Int(start.duration(to: .now) / .seconds(1))
        #expect(asked <= seconds + 2)
        await redis.shutDown()
        await server.stop()
    }
}

/// The port of a server that has to tell it.
final class ScriptedPort: Sendable {
    private let port = Locked<UInt16>(0)

    var value: UInt16 { port.withLock { $0 } }

    func set(_ value: UInt16) { port.withLock { $0 = value } }
}
