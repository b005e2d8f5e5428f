import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Changes by others while a fetch, a fill or a refresh is under way", .leavesNothing, .timeLimit(.minutes(5)))
struct ForeignChangeTests {
    enum Change: CaseIterable {
        case remove
        case clear
        case delete
        case overwrite
        case flush

        /// A change by `other`, or by a program that knows nothing of this library.
        func make(_ other: FaultInstance, _ server: RedisServer, _ names: KeyNames) async throws {
            switch self {
            case .remove: try await other.cache.remove("k")
            case .clear: try await other.cache.clear()
            case .delete: try await server.command(bytes: [Array("DEL".utf8), names.value.bytes])
            case .overwrite:
                try await server.command(bytes: [Array("SET".utf8), names.value.bytes, Array("theirs".utf8)])
            case .flush: try await server.command("FLUSHALL")
            }
        }
    }

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    /// A missing value: a DEL finds nothing to delete, so the server sends no notice.
    @Test("during a first fetch: the caller gets what it asked for, which is not kept", arguments: Change.allCases)
    func duringFetch(change: Change) async throws {
        guard change != .delete else { return }
        try await RedisServer.withServer { server in
            let one = try await FaultInstance(server.url, keyspace, source)
            let other = try await FaultInstance(server.url, keyspace, source)
            source.set("old")
            let early = Task { try await one.cache.get("k") }
            await source.gate.arrivals()
            try await change.make(other, server, names)
            source.set("new")
            source.gate.open()
            #expect(try await early.value == "old")
            // A clear voids by number: what is stored afterwards under an older one is void, as soon as that is heard.
            #expect(one.statistics.stores == (change == .clear ? 1 : 0))
            try await one.catchUp()
            #expect(one.remembers("k") == nil)
            #expect(try await one.cache.get("k") == "new")
            #expect(try await other.cache.get("k") == "new")
        }
    }

    @Test(
        "during a refresh of something unusable: the change stands, what was fetched is not stored",
        arguments: Change.allCases
    )
    func duringRefresh(change: Change) async throws {
        try await RedisServer.withServer { server in
            let one = try await FaultInstance(server.url, keyspace, source)
            let other = try await FaultInstance(server.url, keyspace, source)
            try await one.redis.set(names.value, Array("no envelope, but long enough to have a stamp".utf8))
            source.set("old")
            let early = Task { try await one.cache.get("k") }
            await source.gate.arrivals()
            try await change.make(other, server, names)
            source.set("new")
            source.gate.open()
            #expect(try await early.value == "old")
            #expect(one.statistics.stores == (change == .clear ? 1 : 0))
            #expect(one.statistics.refusedStores == (change == .clear ? 0 : 1))
            try await one.catchUp()
            #expect(one.remembers("k") == nil)
            #expect(try await one.redis.exists(names.lease) == 0)
            #expect(try await other.cache.get("k") == "new")
            #expect(try await one.cache.get("k") == "new")
        }
    }

    @Test("during a fill of memory: what Redis had is returned and not kept", arguments: Change.allCases)
    func duringFill(change: Change) async throws {
        let held = AsyncGate()
        try await RedisServer.withServer { server in
            let one = try await FaultInstance(server.url, keyspace, source)
            let other = try await FaultInstance(server.url, keyspace, source)
            source.gate.open()
            try await other.base.level.set("old", for: "k")
            let slow = ClosureFetcher<String, String> { [level = one.base.level] key in
                let value = try await level.get(key)
                try await held.pass()
                return value
            }
            let cache = one.base.memory.compose(SlowLevel(base: one.base.level, fetcher: slow))
            let fill = Task { try await cache.get("k") }
            await held.arrivals()
            try await change.make(other, server, names)
            try await one.catchUp()
            held.open()
            #expect(try await fill.value == "old")
            #expect(cache.resident("k", at: .coarse) == nil)
        }
    }

    @Test("a clear reaches what memory holds and Redis never had")
    func clearOfWhatRedisNeverHad() async throws {
        try await RedisServer.withServer { server in
            let one = try await FaultInstance(server.url, keyspace, source)
            let other = try await FaultInstance(server.url, keyspace, source)
            source.set("old")
            source.gate.open()
            try await server.command("CONFIG", "SET", "maxmemory", "1")
            #expect(try await one.cache.get("k") == "old")
            #expect(one.remembers("k") == "old")
            #expect(try await one.redis.exists(names.value) == 0)
            try await server.command("CONFIG", "SET", "maxmemory", "0")
            source.set("new")
            try await other.cache.clear()
            try await one.catchUp()
            #expect(one.remembers("k") == nil)
            #expect(try await one.cache.get("k") == "new")
        }
    }

    @Test(
        "an own write and another's in the same turn of the server: memory keeps what Redis keeps",
        arguments: [false, true]
    )
    func sameTurn(ownIsLast: Bool) async throws {
        try await RedisServer.withServer { server in
            let (near, far) = (
                try await FaultProxy.start(to: server.endpoint), try await FaultProxy.start(to: server.endpoint)
            )
            let one = try await FaultInstance(near.url, keyspace, source)
            let other = try await FaultInstance(far.url, keyspace, source)
            for round in 0..<5 {
                // What is sent while the server stands still is read in one turn when it goes on.
                try await server.pause()
                let (proxy, second) = ownIsLast ? (far, near) : (near, far)
                let before = proxy.snapshot.counts.toServer.delivered
                async let first: Void = (ownIsLast ? other : one).cache.set("first \(round)", for: "k")
                try await proxy.wait { $0.counts.toServer.delivered > before }
                let mark = second.snapshot.counts.toServer.delivered
                async let last: Void = (ownIsLast ? one : other).cache.set("last \(round)", for: "k")
                try await second.wait { $0.counts.toServer.delivered > mark }
                try await server.resume()
                _ = try await (first, last)
                let truth = try await other.base.level.get("k")
                for instance in [one, other] {
                    try await instance.catchUp()
                    // The look at what an own write has left was sent before this, and is answered before it.
                    try await instance.redis.ping()
                    let kept = instance.remembers("k")
                    #expect(kept == nil || kept == truth)
                    #expect(try await instance.cache.get("k") == truth)
                }
            }
            await near.stop()
            await far.stop()
        }
    }
}
