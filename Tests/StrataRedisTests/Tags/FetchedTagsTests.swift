import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Tags that a source gives", .timeLimit(.minutes(5)))
struct FetchedTagsTests {
    private typealias Cache = Composed<MemoryLevel<String, String>, FetchingLevel<String, String>>

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let gate = AsyncGate()
    /// Leases that do not end before their time on a busy machine.
    private let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))

    /// A source whose values bear a tag, and which can be held after it has looked.
    final class TaggingSource: Sendable {
        private let state = Locked((value: "old", calls: 0, gate: nil as AsyncGate?))

        var calls: Int { state.withLock { $0.calls } }

        func set(_ value: String) { state.withLock { $0.value = value } }

        func hold(_ gate: AsyncGate?) { state.withLock { $0.gate = gate } }

        func fetch() async throws -> FetchOutcome<String> {
            let (value, gate) = state.withLock { state in
                state.calls += 1
                return (state.value, state.gate)
            }
            try await gate?.pass()
            return .value(value, tags: ["t", "u"])
        }
    }

    private let source = TaggingSource()

    private func instance(_ server: RedisServer) throws -> Cache {
        MemoryLevel(limit: .entries(10))
            .compose(
                RedisLevel(try TestServer.client(of: server), keyspace: keyspace)
                    .fetching(options) { [source] _, _ in try await source.fetch() }
            )
    }

    @Test("a fetched value goes with its tag, in Redis and in the memory of every instance")
    func everywhere() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(server), try instance(server))
            #expect(try await one.get("k") == "old")
            #expect(try await other.get("k") == "old")
            #expect(source.calls == 1)
            source.set("new")
            try await one.invalidate(tag: "u")
            #expect(try await one.get("k") == "new")
            while other.resident("k", at: .coarse)?.value == "old" { try await other.lower.level.redis.ping() }
            #expect(try await other.get("k") == "new")
            #expect(source.calls == 2)
        }
    }

    @Test("an absence goes with its tag as a value does, fetched alone or with others", arguments: [false, true])
    func absence(together: Bool) async throws {
        try await RedisServer.withServer { server in
            let found = Locked<[String: String]>([:])
            let calls = SharedCount()
            func instance() throws -> Cache {
                let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace)
                return MemoryLevel(limit: .entries(10))
                    .compose(
                        together
                            ? level.fetchingSeveral(options) { (asked: [String], _: [String: FetchContext<String>]) in
                                calls.increment()
                                let found = found.withLock { $0 }
                                return Dictionary(
                                    uniqueKeysWithValues: asked.map { ($0, .found(found[$0], tags: ["of \($0)"])) }
                                )
                            }
                            : level.fetching(options) { key, _ in
                                calls.increment()
                                return .found(found.withLock { $0[key] }, tags: ["of \(key)"])
                            }
                    )
            }
            let (one, other) = (try instance(), try instance())
            try await one.lower.level.listens()
            try await other.lower.level.listens()
            for cache in [one, other] { #expect(try await cache.get(["k", "l"]) == [nil, nil]) }
            let before = calls.value
            found.withLock { $0 = ["k": "new", "l": "new"] }
            try await one.invalidate(tag: "of k")
            // The absence of the other key bears another tag, and is still remembered.
            #expect(try await one.get(["k", "l"]) == ["new", nil])
            while try await other.get("k") == nil { try await other.lower.level.redis.ping() }
            #expect(try await other.get(["k", "l"]) == ["new", nil])
            #expect(calls.value == before + 1)
        }
    }

    @Test("a tag invalidated while an absence that bears it is fetched: no later read gets the absence")
    func absenceDuringFetch() async throws {
        try await RedisServer.withServer { server in
            let gate = gate
            let found = Locked<String?>(nil)
            let held = Locked(true)
            func instance() throws -> Cache {
                MemoryLevel(limit: .entries(10))
                    .compose(
                        RedisLevel(try TestServer.client(of: server), keyspace: keyspace)
                            .fetching(options) { _, _ in
                                let value = found.withLock { $0 }
                                if held.withLock({ $0 }) { try await gate.pass() }
                                return .found(value, tags: ["t"])
                            }
                    )
            }
            let (one, other) = (try instance(), try instance())
            let early = Task { try await one.get("k") }
            await gate.arrivals()
            found.withLock { $0 = "new" }
            held.withLock { $0 = false }
            try await other.invalidate(tag: "t")
            gate.open()
            #expect(try await early.value == nil)
            #expect(try await other.get("k") == "new")
            #expect(try await one.get("k") == "new")
        }
    }

    @Test("a tag invalidated while a value that bears it is fetched: the caller has it, no level serves it")
    func duringFetch() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(server), try instance(server))
            source.hold(gate)
            let early = Task { try await one.get("k") }
            await gate.arrivals()
            try await other.invalidate(tags: ["t"])
            source.set("new")
            source.hold(nil)
            let late = Task { try await other.get("k") }
            gate.open()
            #expect(try await early.value == "old")
            #expect(try await late.value == "new")
            #expect(try await one.get("k") == "new")
        }
    }

    @Test("a tag invalidated during a refresh in the background")
    func duringRefresh() async throws {
        try await RedisServer.withServer { server in
            let policy = FreshnessPolicy(
                freshFor: .milliseconds(1),
                staleWhileRevalidate: .seconds(600),
                earlyRefresh: 0
            )
            let level = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: keyspace,
                freshness: policy
            )
            .fetching(options) { [source] _, _ in try await source.fetch() }
            #expect(try await level.get("k") == "old")
            while try await level.level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true {
                try await nextTurn()
            }
            source.hold(gate)
            #expect(try await level.get("k") == "old")
            await gate.arrivals()
            try await level.invalidate(tag: "t")
            source.set("new")
            source.hold(nil)
            gate.open()
            await level.drain(within: .seconds(30))
            #expect(try await level.get("k") == "new")
        }
    }
}
