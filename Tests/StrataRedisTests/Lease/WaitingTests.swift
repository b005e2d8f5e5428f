import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Waiting for another instance", .timeLimit(.minutes(5)))
struct WaitingTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()
    private let held = Array("T0123456789abcdefsomebody".utf8)

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    @Test("a lease that stands is waited for, and never fetched beside: then there is the stale value, or a timeout")
    func limit() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let policy = FreshnessPolicy(freshFor: .milliseconds(1), staleIfError: .seconds(600), earlyRefresh: 0)
            let cache = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: keyspace,
                codec: .text,
                freshness: policy
            )
            .fetching(LeaseOptions(waitLimit: .milliseconds(100))) { [source] _ in try await source.fetch() }
            try await cache.level.redis.set(names.lease, held, expiringIn: .seconds(50))
            let error = await #expect(throws: CacheError.self) { try await cache.get("k") }
            #expect(error?.code == .timeout)
            try await cache.level.redis.delete(names.lease)
            try await cache.set("old", for: "k")
            while try await cache.level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true {
                try await nextTurn()
            }
            try await cache.level.redis.set(names.lease, held, expiringIn: .seconds(50))
            #expect(try await cache.get("k", .reload) == "old")
            #expect(source.calls == 0)
            #expect(cache.level.statistics.uncoordinatedFetches == 0)
            #expect(try await cache.level.redis.exists(names.lease) == 1)
        }
    }

    @Test("all who wait get the same error when the lease of another is waited for too long, also above memory")
    func joiners() async throws {
        try await RedisServer.withServer { server in
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            let fetching = level.fetching(LeaseOptions(waitLimit: .seconds(1))) { [source] _ in try await source.fetch()
            }
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(fetching)
            try await level.redis.set(names.lease, held, expiringIn: .seconds(50))
            let reads = (0..<10).map { _ in Task { try await cache.get("k") } }
            for read in reads {
                let error = await #expect(throws: CacheError.self) { try await read.value }
                #expect(error?.code == .timeout)
            }
        }
    }

    @Test("a wait ends where the read fetches itself: its time is taken before the source is asked, and once")
    func ownFetch() async throws {
        try await RedisServer.withServer { server in
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            try await level.listens()
            let cache = level.fetching(.lasting) { [source] _ in try await source.fetch() }
            let waits = SharedCount()
            let listener = cache.waitDurations.add { _, _, _ in waits.increment() }
            try await level.redis.set(names.lease, held, expiringIn: .seconds(50))
            let read = Task { try await cache.get("k") }
            while level.statistics.waits == 0 { try await nextTurn() }
            try await level.redis.delete(names.lease)
            // As the end of a lease is told.
            try await level.redis.publish(KeyspaceEvent.ended.message(for: names), to: keyspace.events)
            await source.gate.arrivals()
            #expect(waits.value == 1)
            source.gate.open()
            #expect(try await read.value == "value")
            #expect(waits.value == 1)
            cache.waitDurations.remove(listener)
        }
    }

    @Test("by default a caller waits for longer than a lease can stand")
    func defaults() {
        let options = LeaseOptions()
        #expect(options.waitLimit > options.renewalLimit + options.duration)
    }

    @Test(
        "where no link tells of changes, waiting reads look for them",
        arguments: [Coherence.none, .lifetime(.seconds(1))]
    )
    func untold(coherence: Coherence) async throws {
        try await RedisServer.withServer { server in
            // Slept out, it would take longer than the test may.
            let options = LeaseOptions(
                duration: .seconds(1_000),
                renewalLimit: .seconds(2_000),
                waitLimit: .seconds(3_000)
            )
            let (one, other) = try (0..<2)
                .map { _ in
                    RedisLevel<String, String>(
                        try TestServer.client(of: server),
                        keyspace: keyspace,
                        codec: .text,
                        coherence: coherence
                    )
                    .fetching(options) { [source] _ in try await source.fetch() }
                }
                .pair
            let fetch = Task { try await one.get("k") }
            await source.gate.arrivals()
            let wait = Task { try await other.get("k") }
            while other.level.statistics.waits == 0 { try await nextTurn() }
            source.gate.open()
            #expect(try await fetch.value == "value")
            #expect(try await wait.value == "value")
            #expect(source.calls == 1)
        }
    }
}

extension Array {
    fileprivate var pair: (Element, Element) { (self[0], self[1]) }
}
