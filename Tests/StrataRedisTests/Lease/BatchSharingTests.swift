import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Several keys that Redis has, asked for by several callers", .timeLimit(.minutes(5)))
struct BatchSharingTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let keys = ["a", "b", "c"]

    /// Runs `body` with a level that has values of all keys, on a server that stands still.
    private func with(
        _ freshness: FreshnessPolicy = FreshnessPolicy(),
        _ body: (FetchingLevel<String, String>, RedisServer) async throws -> Void
    ) async throws {
        try await RedisServer.withServer { server in
            let client = try TestServer.client(of: server)
            let level = RedisLevel<String, String>(client, keyspace: keyspace, freshness: freshness)
                .fetchingSeveral { _ in [:] }
            try await level.level.ready()
            for key in keys { try await level.set("value of \(key)", for: key) }
            try await server.command("CONFIG", "RESETSTAT")
            try await server.pause()
            try await body(level, server)
            await client.shutDown()
        }
    }

    private func read(_ level: FetchingLevel<String, String>) -> Task<[String?], any Error> {
        Task { [keys] in try await level.get(keys) }
    }

    private var values: [String?] { keys.map { "value of \($0)" } }

    @Test("callers of the same keys share one MGET")
    func same() async throws {
        try await with { level, server in
            let reads = (0..<20).map { _ in read(level) }
            while level.looks.waiting < 20 { try await nextTurn() }
            try await server.resume()
            for read in reads { #expect(try await read.value == values) }
            #expect(try await server.calls(of: "mget") == 1)
            #expect(try await server.calls(of: "get") == 0)
        }
    }

    @Test("who comes after an own change of a key shares no MGET from before it")
    func ownChange() async throws {
        try await with { level, server in
            let first = read(level)
            while level.looks.waiting < 1 { try await nextTurn() }
            level.void("a")
            let second = read(level)
            while level.looks.waiting < 2 { try await nextTurn() }
            try await server.resume()
            for read in [first, second] { #expect(try await read.value == values) }
            #expect(try await server.calls(of: "mget") == 2)
        }
    }

    @Test(
        "who comes after another's change of a key was told has that key read again; after a tag's there is a new MGET"
    )
    func toldChange() async throws {
        for isTag in [false, true] {
            try await with { level, server in
                let gate = try #require(level.gate)
                let first = read(level)
                while level.level.redis.connections[0].inFlight == 0 { try await nextTurn() }
                if isTag {
                    gate.void(tagFingerprints: [1])
                } else {
                    gate.void(level.fingerprint(of: "a"), because: .changedElsewhere)
                }
                let second = read(level)
                while level.looks.waiting < 2 { try await nextTurn() }
                try await server.resume()
                for read in [first, second] { #expect(try await read.value == values) }
                #expect(try await server.calls(of: "mget") == (isTag ? 2 : 1))
                let again = try await server.calls(of: "get")
                #expect(isTag ? again == 0 : again >= 1)
            }
        }
    }

    @Test("a key whose change is told while its MGET is out is read again, by who has asked before as well")
    func toldMeanwhile() async throws {
        try await with { level, server in
            let batch = read(level)
            while level.level.redis.connections[0].inFlight == 0 { try await nextTurn() }
            try #require(level.gate).void(level.fingerprint(of: "a"), because: .changedElsewhere)
            try await server.resume()
            #expect(try await batch.value == values)
            #expect(try await server.calls(of: "get") == 1)
        }
    }

    @Test(
        "an old value with a tag is read again before a fetch may fall back on it, when a tag was invalidated meanwhile"
    )
    func spare() async throws {
        struct Failure: Error {}
        var calls: [Int] = []
        for isInvalidated in [false, true] {
            try await RedisServer.withServer { server in
                let client = try TestServer.client(of: server)
                let policy = FreshnessPolicy(freshFor: .seconds(600), staleIfError: .seconds(600))
                let level = RedisLevel<String, String>(client, keyspace: keyspace, freshness: policy)
                    .fetchingSeveral(LeaseOptions(failureBackOff: nil)) { _ in throw Failure() }
                try await level.level.ready()
                try await level.set("old", for: "a", tags: ["red"])
                try await level.expire("a")
                try await level.set("fresh", for: "b")
                try await server.command("CONFIG", "RESETSTAT")
                try await server.pause()
                let batch = Task { try await level.get(["a", "b"]) }
                while client.connections[0].inFlight == 0 { try await nextTurn() }
                if isInvalidated { try #require(level.gate).void(tagFingerprints: [1]) }
                try await server.resume()
                #expect(try await batch.value == ["old", "fresh"])
                calls.append(try await server.calls(of: "get"))
                await client.shutDown()
            }
        }
        // The script of the lease reads the key in both.
        #expect(calls[1] == calls[0] + 1)
    }

    @Test("a drain waits for a batch whose look has begun, until what it fetches is stored")
    func drained() async throws {
        try await RedisServer.withServer { server in
            let client = try TestServer.client(of: server)
            let level = RedisLevel<String, String>(client, keyspace: keyspace)
                .fetchingSeveral { keys in Dictionary(keys.map { ($0, "new \($0)") }) { first, _ in first } }
            try await level.level.ready()
            try await server.pause()
            let batch = read(level)
            while level.looks.waiting == 0 { try await nextTurn() }
            // A drain waits for what is counted here.
            #expect(level.flights.count == 1)
            let drain = Task { await level.drain(within: .seconds(60)) }
            // It has begun to wait by then, or else waits for the fetch.
            for _ in 0..<100 { try await nextTurn() }
            try await server.resume()
            await drain.value
            #expect(
                try await server.command("EXISTS", keyspace.names(for: Array("a".utf8)).value.description).integer == 1
            )
            #expect(try await batch.value == keys.map { "new \($0)" })
            await client.shutDown()
        }
    }

    @Test("a caller's limit ends its batch while Redis stands still, and others still get theirs")
    func limit() async throws {
        var freshness = FreshnessPolicy()
        freshness.hardTimeout = .milliseconds(100)
        try await with(freshness) { level, server in
            let error = await #expect(throws: CacheError.self) { try await level.get(keys) }
            #expect(error?.code == .timeout)
            #expect(try await level.batchGetSome(keys).isEmpty)
            // With a trace as well, long before the time for Redis is over.
            let begin = ContinuousClock.now
            _ = await #expect(throws: CacheError.self) { try await level.getWithTrace(keys) }
            #expect(ContinuousClock.now - begin < .seconds(15))
            try await server.resume()
            #expect(try await level.level.get(keys) == values)
        }
    }

    @Test("a batch of which one key is stale: it is served, and refreshed by one fetch; the others are not fetched")
    func stale() async throws {
        try await RedisServer.withServer { server in
            let client = try TestServer.client(of: server)
            let asked = Shared(0)
            let policy = FreshnessPolicy(freshFor: .seconds(600), staleWhileRevalidate: .seconds(600))
            let level = RedisLevel<String, String>(client, keyspace: keyspace, freshness: policy)
                .fetchingSeveral(LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))) { keys in
                    _ = asked.next()
                    return Dictionary(keys.map { ($0, "new \($0)") }) { first, _ in first }
                }
            for key in keys { try await level.set("value of \(key)", for: key) }
            try await level.expire("b")
            #expect(try await level.get(keys) == values)
            while try await level.level.get("b") != "new b" { try await nextTurn() }
            #expect(try await level.get(keys) == ["value of a", "new b", "value of c"])
            #expect(asked.withLock { $0 } == 1)
            await client.shutDown()
        }
    }
}
