import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// A server that gets what it is asked at once, and whose answers can be held back.
private struct HeldServer {
    let server: RedisServer
    let proxy: FaultProxy

    init(_ server: RedisServer) async throws {
        self.server = server
        proxy = try await FaultProxy.start(to: server.endpoint)
    }

    /// A client that waits for as long as a test holds its answers.
    func client() throws -> RedisClient {
        try TestServer.client(of: proxy.url) { configuration in
            configuration.commandTimeout = .seconds(600)
            configuration.redisBudget = .seconds(600)
            configuration.healthWindow = .seconds(600)
        }
    }

    /// Holds the answers to all that is asked from now on; calls are counted anew.
    func hold() async throws {
        try await server.command("CONFIG", "RESETSTAT")
        proxy.stall(.toClient)
    }

    func resume() { proxy.resume(.toClient) }

    /// Returns when the server has answered an MGET.
    func hasRead() async throws { while try await server.calls(of: "mget") == 0 { try await nextTurn() } }
}

@Suite("Several keys that Redis has, asked for by several callers", .timeLimit(.minutes(5)))
struct BatchSharingTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let keys = ["a", "b", "c"]

    /// Runs `body` with a level that has values of all keys, and a server whose answers do not arrive for now.
    ///
    /// The level has no link: what that is told of the values that are set here would come at any time.
    private func with(
        _ freshness: FreshnessPolicy = FreshnessPolicy(),
        _ body: (FetchingLevel<String, String>, HeldServer) async throws -> Void
    ) async throws {
        try await RedisServer.withServer { server in
            let held = try await HeldServer(server)
            let client = try held.client()
            let level = RedisLevel<String, String>(client, keyspace: keyspace, freshness: freshness, coherence: .none)
                .fetchingSeveral { _ in [:] }
            try await level.level.ready()
            for key in keys { try await level.set("value of \(key)", for: key) }
            try await held.hold()
            try await body(level, held)
            await client.shutDown()
            await held.proxy.stop()
        }
    }

    private func read(_ level: FetchingLevel<String, String>) -> Task<[String?], any Error> {
        Task { [keys] in try await level.get(keys) }
    }

    private var values: [String?] { keys.map { "value of \($0)" } }

    @Test("callers of the same keys share one MGET")
    func same() async throws {
        try await with { level, held in
            let reads = (0..<20).map { _ in read(level) }
            while level.looks.waiting < 20 { try await nextTurn() }
            held.resume()
            for read in reads { #expect(try await read.value == values) }
            #expect(try await held.server.calls(of: "mget") == 1)
            #expect(try await held.server.calls(of: "get") == 0)
        }
    }

    @Test("who comes after an own change of a key shares no MGET from before it")
    func ownChange() async throws {
        try await with { level, held in
            let first = read(level)
            while level.looks.waiting < 1 { try await nextTurn() }
            level.void("a")
            let second = read(level)
            while level.looks.waiting < 2 { try await nextTurn() }
            held.resume()
            for read in [first, second] { #expect(try await read.value == values) }
            #expect(try await held.server.calls(of: "mget") == 2)
        }
    }

    @Test(
        "who comes after another's change of a key was told has that key read again; after a tag's there is a new MGET"
    )
    func toldChange() async throws {
        for isTag in [false, true] {
            try await with { level, held in
                let gate = try #require(level.gate)
                let first = read(level)
                try await held.hasRead()
                if isTag {
                    gate.void(tagFingerprints: [1])
                } else {
                    gate.void(level.fingerprint(of: "a"), because: .changedElsewhere)
                }
                let second = read(level)
                while level.looks.waiting < 2 { try await nextTurn() }
                held.resume()
                for read in [first, second] { #expect(try await read.value == values) }
                #expect(try await held.server.calls(of: "mget") == (isTag ? 2 : 1))
                let again = try await held.server.calls(of: "get")
                #expect(isTag ? again == 0 : again >= 1)
            }
        }
    }

    @Test("a key whose change is told while its MGET is out is read again, by who has asked before as well")
    func toldMeanwhile() async throws {
        try await with { level, held in
            let batch = read(level)
            try await held.hasRead()
            try #require(level.gate).void(level.fingerprint(of: "a"), because: .changedElsewhere)
            held.resume()
            #expect(try await batch.value == values)
            #expect(try await held.server.calls(of: "get") == 1)
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
                let held = try await HeldServer(server)
                let client = try held.client()
                let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600), failureBackOff: nil)
                let policy = FreshnessPolicy(freshFor: .seconds(600), staleIfError: .seconds(600))
                let level = RedisLevel<String, String>(client, keyspace: keyspace, freshness: policy, coherence: .none)
                    .fetchingSeveral(options) { _ in throw Failure() }
                try await level.level.ready()
                try await level.set("old", for: "a", tags: ["red"])
                try await level.expire("a")
                try await level.set("fresh", for: "b")
                try await held.hold()
                let batch = Task { try await level.get(["a", "b"]) }
                try await held.hasRead()
                if isInvalidated { try #require(level.gate).void(tagFingerprints: [1]) }
                held.resume()
                #expect(try await batch.value == ["old", "fresh"])
                calls.append(try await server.calls(of: "get"))
                await client.shutDown()
                await held.proxy.stop()
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
                .fetchingSeveral(.lasting) { keys in Dictionary(keys.map { ($0, "new \($0)") }) { first, _ in first } }
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
        try await with(freshness) { level, held in
            let error = await #expect(throws: CacheError.self) { try await level.get(keys) }
            #expect(error?.code == .timeout)
            let some = try await level.batchGetSome(keys)
            #expect(some.isEmpty)
            // With a trace as well. The time for Redis is longer than that of this test.
            _ = await #expect(throws: CacheError.self) { try await level.getWithTrace(keys) }
            held.resume()
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
