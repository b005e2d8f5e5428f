import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Reads that leave Redis out, and still store", .timeLimit(.minutes(5)))
struct BesideTests {
    private static let beside = ReadOptions(skipsReading: [.redis])

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    private func instance(of server: RedisServer) throws -> FetchingLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            .fetching(.lasting) { [source] _ in try await source.fetch() }
    }

    enum Change: CaseIterable {
        case set
        case remove
        case overwrite
    }

    @Test("a change during the fetch stands: what was fetched is not stored", arguments: Change.allCases)
    func changed(change: Change) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(of: server), try instance(of: server))
            try await other.set("before", for: "k")
            let call = Task { try await one.get("k", Self.beside) }
            await source.gate.arrivals()
            switch change {
            case .set: try await other.set("set", for: "k")
            case .remove: try await other.remove("k")
            case .overwrite: try await one.level.redis.set(names.value, Array("theirs".utf8))
            }
            source.gate.open()
            #expect(try await call.value == "value")
            #expect(one.level.statistics.stores == 0)
            #expect(one.level.statistics.refusedStores == 1)
            #expect(try await other.level.get("k") == (change == .set ? "set" : nil))
            #expect(try await one.level.redis.exists(names.lease) == 0)
        }
    }

    @Test("what lies there is neither served nor in the way; it is replaced under a lease")
    func replaces() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(of: server)
            try await one.set("old", for: "k")
            let call = Task { try await one.get("k", Self.beside) }
            await source.gate.arrivals()
            #expect(try await one.level.redis.exists(names.lease) == 1)
            source.gate.open()
            #expect(try await call.value == "value")
            #expect(one.level.statistics.stores == 1)
            #expect(try await one.level.get("k") == "value")
            #expect(try await one.level.redis.exists(names.lease) == 0)
        }
    }

    @Test("while another instance has the lease, it fetches by itself and stores nothing; the other one does")
    func othersLead() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(of: server)
            let quick = CountingSource()
            quick.set("quick")
            quick.gate.open()
            let other = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
                .fetching(.lasting) { _ in try await quick.fetch() }
            let lead = Task { try await one.get("k") }
            await source.gate.arrivals()
            #expect(try await other.get("k", Self.beside) == "quick")
            #expect(try await one.level.redis.get(names.value) == nil)
            source.gate.open()
            #expect(try await lead.value == "value")
            #expect(try await other.level.get("k") == "value")
        }
    }

    @Test("what a newer release has written stays: of a higher schema, or in another format", arguments: [0, 1])
    func newerRelease(format: Int) async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let one = try instance(of: server)
            let redis = one.level.redis
            let newer = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, schema: 2)
            try await newer.set("new", for: "k")
            var bytes = try #require(try await redis.get(names.value))
            if format == 1 {
                bytes[3] += 1
                try await redis.set(names.value, bytes)
            }
            #expect(try await one.get("k", Self.beside) == "value")
            #expect(try await one.level.redis.get(names.value) == bytes)
            #expect(try await one.level.redis.exists(names.lease) == 0)
        }
    }

    @Test("several keys are fetched by one call, and each is stored under its lease")
    func batch() async throws {
        try await RedisServer.withServer { server in
            let calls = Locked<[Set<String>]>([])
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
                .fetchingSeveral(.lasting) { (keys: [String]) in
                    calls.withLock { $0.append(Set(keys)) }
                    return Dictionary(uniqueKeysWithValues: keys.map { ($0, "value of \($0)") })
                }
            try await level.level.listens()
            let entries = try await level.entries(for: ["a", "b", "c"], ReadRequest(options: Self.beside))
            #expect(entries.map { $0?.value } == ["value of a", "value of b", "value of c"])
            #expect(calls.withLock { $0 } == [["a", "b", "c"]])
            #expect(level.level.statistics.stores == 3)
            #expect(try await level.level.get("b") == "value of b")
        }
    }

    @Test("a process that has been told of no number yet stores what all may use", arguments: [false, true])
    func fresh(together: Bool) async throws {
        try await RedisServer.withServer { server in
            let writer = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            try await writer.clear()
            // Without a link no number comes by itself.
            let redis = try TestServer.client(of: server)
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: .none)
                .fetching(.lasting) { "value of \($0)" }
            let request = ReadRequest(options: Self.beside)
            if together {
                #expect(
                    try await level.entries(for: ["k", "l"], request).map { $0?.value } == ["value of k", "value of l"]
                )
            } else {
                #expect(try await level.entry(for: "k", request)?.value == "value of k")
            }
            #expect(try await writer.get("k") == "value of k")
        }
    }
}
