import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The end of a client", .timeLimit(.minutes(5)))
struct EndingClientTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test("a removal that fails while the client ends is repeated as those before")
    func removals() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server) {
                $0.commandTimeout = .milliseconds(300)
                $0.redisBudget = .milliseconds(300)
            }
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            // The first call has the connection and the link to wait for.
            try await redis.ping(timeout: .seconds(20))
            try await level.ready(within: .seconds(20))
            let other = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            for key in ["before", "meanwhile"] { try await other.set("v", for: key) }
            try await server.pause()
            await #expect(throws: (any Error).self) { try await level.remove("before") }
            let replay = redis.outage.replay
            async let end: Void = redis.shutDown(within: .seconds(200))
            while !replay.isFinishing { try await nextTurn() }
            await #expect(throws: (any Error).self) { try await level.remove("meanwhile") }
            #expect(redis.outageStatistics.pendingInvalidations == 2)
            try await server.resume()
            await end
            #expect(redis.outageStatistics.pendingInvalidations == 0)
            for key in ["before", "meanwhile"] {
                let name = keyspace.names(for: key.keyBytes).value.bytes
                #expect(try await server.command(bytes: [Array("EXISTS".utf8), name]).integer == 0, "\(key)")
            }
            // What fails after that is counted, and not kept.
            let dropped = redis.outageStatistics.droppedInvalidations
            await #expect(throws: (any Error).self) { try await level.remove("after") }
            #expect(redis.outageStatistics.droppedInvalidations == dropped + 1)
        }
    }

    @Test("its leases end with it: whoever waits for one fetches at once")
    func leases() async throws {
        try await RedisServer.withServer { server in
            let options = LeaseOptions(duration: .seconds(600), renewalLimit: .seconds(6_000))
            let gate = AsyncGate()
            func cache(_ fetch: @escaping @Sendable () async throws -> String?) throws -> FetchingLevel<String, String>
            {
                RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
                    .fetching(options) { _ in try await fetch() }
            }
            let one = try cache {
                // It does not care about cancellation.
                _ = await Task { try? await gate.pass() }.value
                return "one"
            }
            let other = try cache { "other" }
            let first = Task { try await one.get("k") }
            await gate.arrivals()
            let second = Task { try await other.get("k") }
            while other.level.statistics.waits == 0 { try await nextTurn() }
            await one.level.redis.shutDown(within: .seconds(30))
            #expect(try await second.value == "other")
            gate.open()
            _ = try? await first.value
            #expect(try await other.level.get("k") == "other")
        }
    }

    @Test("other work under a lease has the rest of it: no instance begins beside it")
    func work() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try TestServer.client(of: server), try TestServer.client(of: server))
            let options = LeaseOptions(duration: .seconds(600), renewalLimit: .seconds(6_000), waitLimit: .zero)
            let gate = AsyncGate()
            let work = Task {
                try await one.withLease("report", in: keyspace, options: options) { _ in try await gate.pass() }
            }
            await gate.arrivals()
            await one.shutDown(within: .seconds(10))
            await #expect(throws: (any Error).self) {
                try await other.withLease("report", in: keyspace, options: options) { _ in }
            }
            gate.open()
            _ = await work.result
            await other.shutDown()
        }
    }

    @Test("what reads changes ends with it, and what begins to read afterwards ends at once")
    func changes() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            try await level.ready(within: .seconds(60))
            let reader = Task { [changes = level.changes()] in
                for await _ in changes {}
            }
            await redis.shutDown()
            await reader.value
            for await _ in level.changes() {}
            let later = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            for await _ in later.changes() {}
        }
    }

    @Test("in a cluster they end with the client, and not with the link of a node")
    func changesOfCluster() async throws {
        let cluster = try await TestCluster.shared()
        let instance = try ClusterInstance(cluster, keyspace)
        try await instance.level.ready(within: .seconds(60))
        var heard = instance.level.changes().makeAsyncIterator()
        let node = try #require(instance.redis.cluster?.clients.first)
        node.link.shutDown()
        for key in TestCluster.keys("key", of: cluster) { try await instance.level.set("v", for: key) }
        var isTold = false
        while !isTold, let change = await heard.next() {
            if case .changed = change { isTold = true }
        }
        #expect(isTold)
        await instance.redis.shutDown()
        while await heard.next() != nil {}
        for await _ in instance.level.changes() {}
    }

    @Test("what reads changes ends with the level, though the client goes on")
    func changesOfLevel() async throws {
        let redis = try await TestServer.client()
        let reader: Task<Void, Never>
        do {
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            reader = Task { [changes = level.changes()] in
                for await _ in changes {}
            }
        }
        await reader.value
        try await redis.ping()
    }

    @Test("a wait for a client that has ended ends with it; one for a server that hangs takes no longer than it may")
    func waits() async throws {
        try await RedisServer.withServer { server in
            let level = RedisLevel<String, String>(
                try TestServer.client(of: server) {
                    $0.commandTimeout = .seconds(600)
                    $0.healthWindow = .seconds(600)
                },
                keyspace: keyspace,
                codec: .text
            )
            try await level.ready(within: .seconds(60))
            try await server.pause()
            // Its PING has more time by itself than this test.
            let late = await #expect(throws: RedisError.self) { try await level.ready(within: .milliseconds(50)) }
            #expect(late?.code == .timeout)
            try await server.resume()
            await level.redis.shutDown()
            let ended = await #expect(throws: RedisError.self) { try await level.ready(within: .seconds(6_000)) }
            #expect(ended?.code == .shutDown)
        }
    }
}
