import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What one read says of its fetch, in a fleet", .timeLimit(.minutes(5)))
struct FleetFetchOptionsTests {
    private static let alone = ReadOptions(waitsForOthers: false)

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    private func instance(
        of server: RedisServer,
        _ freshness: FreshnessPolicy = FreshnessPolicy(),
        _ source: CountingSource? = nil
    ) throws -> FetchingLevel<String, String> {
        let source = source ?? self.source
        return RedisLevel(try TestServer.client(of: server), keyspace: keyspace, codec: .text, freshness: freshness)
            .fetching(LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))) { _, _ in
                .found(try await source.fetch(), tags: ["own"])
            }
    }

    private func quick(_ value: String) -> CountingSource {
        let source = CountingSource()
        source.set(value)
        source.gate.open()
        return source
    }

    @Test("timeouts: this read gives up, the fetch goes on and stores", arguments: [0, 1, 2])
    func timeouts(which: Int) async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server, FreshnessPolicy(hardTimeout: nil))
            let options = [
                ReadOptions(hardTimeout: .milliseconds(400)),
                ReadOptions(hardTimeout: .milliseconds(400), waitsForOthers: false),
                // Past Redis there was no limit before.
                ReadOptions(skipsReading: [.redis], hardTimeout: .milliseconds(400)),
            ][which]
            let read = Task { try await cache.get("k", options) }
            await source.gate.arrivals()
            let error = await #expect(throws: CacheError.self) { try await read.value }
            #expect(error?.code == .timeout)
            source.gate.open()
            await cache.drain(within: .seconds(30))
            while try await cache.level.get("k") != "value" { try await nextTurn() }
            #expect(source.calls == 1)
        }
    }

    @Test("a hard timeout of the read counts the time that Redis takes, too: while it stands still, and in a batch")
    func hardWhileStill() async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server, FreshnessPolicy(hardTimeout: nil))
            try await cache.set("value", for: "other")
            try await server.pause()
            let options = ReadOptions(hardTimeout: .milliseconds(1))
            // The client would wait for 20 seconds.
            let error = await #expect(throws: CacheError.self) { try await cache.get("k", options) }
            #expect(error?.code == .timeout)
            while cache.level.redis.connections[0].inFlight == 0 { try await nextTurn() }
            try await server.resume()
            source.gate.open()
            // It goes on, and stores what it fetches.
            await cache.drain(within: .seconds(30))
            #expect(try await cache.level.get("k") == "value")
            #expect(try await cache.get(["other", "k"], ReadOptions(hardTimeout: .seconds(30))) == ["value", "value"])
            #expect(source.calls == 1)
        }
    }

    @Test("a soft timeout of the read serves what is stale")
    func soft() async throws {
        try await RedisServer.withServer { server in
            let policy = FreshnessPolicy(
                freshFor: .milliseconds(1),
                staleIfError: .seconds(600),
                earlyRefresh: 0,
                hardTimeout: nil
            )
            let cache = try instance(of: server, policy)
            try await cache.set("old", for: "k")
            while try await cache.level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true {
                try await nextTurn()
            }
            let (value, trace) = try await cache.getWithTrace("k", ReadOptions(softTimeout: .milliseconds(1)))
            #expect(value == "old" && trace.staleReason == .late)
            source.gate.open()
            await cache.drain(within: .seconds(30))
            #expect(source.calls == 1)
        }
    }

    @Test("priority, tags and lifetime go with the fetch, and into Redis")
    func fetched() async throws {
        try await RedisServer.withServer { server in
            let seen = Shared<[TaskPriority]>([])
            let (one, other) = (
                RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
                    .fetching(.lasting) { _ in
                        seen.withLock { $0.append(Task.currentPriority) }
                        return "value"
                    }, try instance(of: server)
            )
            let options = ReadOptions(
                priority: .background,
                tags: ["read"],
                lifetime: EntryLifetime(freshFor: .seconds(5_000))
            )
            let reads = [options, ReadOptions(skipsReading: [.redis], priority: .background)]
            for (key, options) in zip(["k", "l"], reads) {
                #expect(try await Task(priority: .high) { try await one.get(key, options) }.value == "value")
            }
            #expect(seen.withLock { $0 } == [.background, .background])
            let entry = try #require(try await other.level.entry(for: "k", ReadRequest()))
            #expect(entry.tags == ["read"] && MonotonicInstant.now.duration(to: entry.freshUntil) > .seconds(4_000))
            try await other.invalidate(tag: "read")
            #expect(try await one.level.get("k") == nil)
        }
    }

    @Test("an old value that still holds gets the read's tags: it is written anew, and is found by them")
    func notModified() async throws {
        try await RedisServer.withServer { server in
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            let cache = level.fetching(.lasting) { _, context in
                context.old == nil ? .value("v", tags: ["own"]) : .notModified()
            }
            _ = try await cache.get("k")
            #expect(try await cache.get("k", ReadOptions(source: .always, tags: ["read"])) == "v")
            #expect(try await level.entry(for: "k", ReadRequest())?.tags == ["own", "read"])
            try await cache.invalidate(tag: "read")
            #expect(try await level.get("k") == nil)
        }
    }

    @Test("while another instance has the lease, it asks the source by itself and stores nothing")
    func othersLead() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(of: server)
            let own = quick("own")
            let other = try instance(of: server, FreshnessPolicy(), own)
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(other)
            let lead = Task { try await one.get("k") }
            await source.gate.arrivals()
            #expect(try await cache.get("k", Self.alone) == "own")
            #expect(try await one.level.redis.get(names.value) == nil && own.calls == 1)
            #expect(other.level.statistics.stores == 0 && other.level.statistics.waits == 0)
            source.gate.open()
            #expect(try await lead.value == "value")
            // What the holder has stored counts, also in this instance's memory.
            while try await cache.get("k") != "value" { try await nextTurn() }
            #expect(try await other.level.get("k") == "value")
        }
    }

    @Test("beside a fetch of its own process it asks, too; that one stores")
    func ownFlight() async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server)
            let first = Task { try await cache.get("k") }
            await source.gate.arrivals()
            let second = Task { try await cache.get("k", Self.alone) }
            await source.gate.arrivals(2)
            source.gate.open()
            #expect(try await [first.value, second.value] == ["value", "value"])
            #expect(source.calls == 2 && cache.level.statistics.stores == 1)
            #expect(try await cache.level.get("k") == "value")
            #expect(try await cache.level.redis.exists(names.lease) == 0)
        }
    }

    @Test("where no instance fetches, it leads: one fetch for all that come, and it is stored under a lease")
    func leads() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(of: server), try instance(of: server))
            let first = Task { try await one.get("k", Self.alone) }
            await source.gate.arrivals()
            #expect(try await one.level.redis.exists(names.lease) == 1)
            let others = [Task { try await one.get("k") }, Task { try await other.get("k") }]
            while one.waiting + other.waiting < 2 { try await nextTurn() }
            source.gate.open()
            #expect(try await first.value == "value")
            for read in others { #expect(try await read.value == "value") }
            #expect(source.calls == 1 && one.level.statistics.stores == 1)
        }
    }

    @Test("a change while it fetches beside others stands, in Redis and in memory")
    func changed() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(of: server)
            let held = CountingSource()
            held.set("old")
            let other = try instance(of: server, FreshnessPolicy(), held)
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(other)
            try await other.level.ready(within: .seconds(60))
            let lead = Task { try await one.get("k") }
            await source.gate.arrivals()
            let read = Task { try await cache.get("k", Self.alone) }
            await held.gate.arrivals()
            try await one.set("set", for: "k")
            held.gate.open()
            #expect(try await read.value == "old")
            while try await cache.get("k") != "set" { try await nextTurn() }
            source.gate.open()
            _ = try await lead.value
            #expect(try await one.level.get("k") == "set")
        }
    }

    @Test("with a stale value at hand it takes that while others fetch; a reload does not")
    func stale() async throws {
        try await RedisServer.withServer { server in
            let policy = FreshnessPolicy(freshFor: .milliseconds(1), staleIfError: .seconds(600), earlyRefresh: 0)
            let one = try instance(of: server, policy)
            let other = try instance(of: server, policy, quick("own"))
            try await one.set("old", for: "k")
            while try await one.level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true { try await nextTurn() }
            let lead = Task { try await one.get("k") }
            await source.gate.arrivals()
            let (value, trace) = try await other.getWithTrace("k", Self.alone)
            #expect(value == "old" && trace.staleReason == .othersFetch)
            #expect(try await other.get("k", ReadOptions(source: .always, waitsForOthers: false)) == "own")
            source.gate.open()
            _ = try await lead.value
        }
    }

    @Test("Redis away, and several keys at once")
    func otherWays() async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server, FreshnessPolicy(), quick("value"))
            #expect(try await cache.get(["a", "b"], Self.alone) == ["value", "value"])
            #expect(try await cache.level.get(["a", "b"]) == ["value", "value"])
            try await server.kill()
            #expect(try await cache.get("c", Self.alone) == "value")
        }
    }
}
