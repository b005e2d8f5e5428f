import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Fetches that fail or are late where Redis does not help", .timeLimit(.minutes(5)))
struct LateFetchTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()
    private let memory = MemoryLevel<String, String>(limit: .entries(16))

    /// A level whose Redis cannot be reached.
    private func away(
        _ freshness: FreshnessPolicy = FreshnessPolicy(),
        _ options: LeaseOptions = LeaseOptions()
    ) throws -> FetchingLevel<String, String> {
        var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
        // How long memory keeps entries whose changes it is not told of.
        configuration.linkPingTimeout = .seconds(60)
        return RedisLevel<String, String>(try RedisClient(configuration), keyspace: keyspace, freshness: freshness)
            .fetching(options) { [source] _ in try await source.fetch() }
    }

    /// An entry that may only be served in need.
    private var old: Entry<String> {
        let now = MonotonicInstant.now
        let past = now.advanced(by: .seconds(-1))
        return Entry(
            .value("old"),
            freshUntil: past,
            staleUntil: now.advanced(by: .seconds(600)),
            refreshAt: past,
            revalidateUntil: past,
            storedAt: now.advanced(by: .seconds(-10))
        )
    }

    @Test("without Redis memory keeps what comes after its caller has left", arguments: [false, true], [1, 2])
    func late(hasOld: Bool, keys: Int) async throws {
        let names = Array(["a", "b"].prefix(keys))
        let limit: Duration = .milliseconds(20)
        let policy = FreshnessPolicy(softTimeout: limit, hardTimeout: hasOld ? nil : limit)
        let cache = memory.compose(try away(policy))
        if hasOld { for key in names { try await memory.store(old, for: key) } }
        // The limit may pass before it is known that Redis is away.
        while source.calls < keys {
            let one = keys > 1 ? nil : try? await cache.get("a")
            let found = keys > 1 ? try await cache.batchGetSome(names) : [one].compactMap { $0 ?? nil }
            #expect(found == (hasOld ? names.map { _ in "old" } : []))
        }
        source.gate.open()
        await cache.drain(within: .seconds(30))
        for key in names { #expect(try await memory.entry(for: key, ReadRequest())?.value == "value") }
        #expect(source.calls == keys)
    }

    @Test("without Redis a source that has failed is not asked again before its back-off is over, or its key removed")
    func backOff() async throws {
        source.gate.open()
        source.fail(true)
        let cache = try away(FreshnessPolicy(), LeaseOptions(failureBackOff: .seconds(600) ... .seconds(600)))
        for _ in 0..<5 { await #expect(throws: CountingSource.Failure.self) { try await cache.get("k") } }
        #expect(source.calls == 1)
        source.fail(false)
        await #expect(throws: CountingSource.Failure.self) { try await cache.get(["k"]) }
        #expect(try await cache.get("other") == "value")
        try? await cache.remove("k")
        #expect(try await cache.get("k") == "value")
        let hasty = try away(FreshnessPolicy(), LeaseOptions(failureBackOff: nil))
        source.fail(true)
        for _ in 0..<5 { await #expect(throws: CountingSource.Failure.self) { try await hasty.get("k") } }
        #expect(source.calls == 8)
    }

    @Test(
        "an answer that there is none takes the old value away, also where that is not remembered",
        arguments: [false, true]
    )
    func noValue(isReload: Bool) async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let policy = FreshnessPolicy(
                freshFor: isReload ? .seconds(600) : .milliseconds(1),
                staleWhileRevalidate: .zero,
                staleIfError: .seconds(600),
                absentFor: .zero
            )
            func level() throws -> FetchingLevel<String, String> {
                RedisLevel(try TestServer.client(of: server), keyspace: keyspace, freshness: policy)
                    .fetching(.lasting) { [source] _ in try await source.fetch() }
            }
            let (cache, other) = (memory.compose(try level()), try level())
            #expect(try await cache.get("k") == "value")
            source.set(nil)
            if isReload {
                #expect(try await cache.get("k", .reload) == nil)
            } else {
                while try await cache.get("k") != nil { try await nextTurn() }
            }
            let whatever = ReadOptions(staleness: .allowed, source: .never)
            #expect(try await cache.get("k", whatever) == nil)
            #expect(try await other.get("k", whatever) == nil)
        }
    }

    @Test("a read that stores nothing in Redis gets the old value there when the source fails, or is late")
    func unfilled() async throws {
        try await RedisServer.withServer { server in
            let policy = FreshnessPolicy(
                freshFor: .milliseconds(1),
                staleWhileRevalidate: .zero,
                staleIfError: .seconds(600),
                softTimeout: .milliseconds(5),
                hardTimeout: nil
            )
            let cache = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: keyspace,
                freshness: policy
            )
            .fetching(.lasting) { [source] _ in try await source.fetch() }
            try await cache.set("old", for: "k")
            let level = cache.level
            while try await level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true { try await nextTurn() }
            let options = ReadOptions(skipsFilling: [.redis])
            let (late, trace) = try await cache.getWithTrace("k", options)
            #expect(late == "old" && trace.staleReason == .late)
            source.fail(true)
            source.gate.open()
            let (failed, _) = try await cache.getWithTrace("k", options)
            #expect(failed == "old")
        }
    }

    @Test("memory's old value is served after the soft timeout also where the read says how")
    func optionsAboveMemory() async throws {
        try await RedisServer.withServer { server in
            let level = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: keyspace,
                freshness: FreshnessPolicy(hardTimeout: nil)
            )
            .fetching(.lasting) { [source] _ in try await source.fetch() }
            let cache = memory.compose(level)
            try await memory.store(old, for: "k")
            for options in [
                ReadOptions(softTimeout: .milliseconds(5)),
                ReadOptions(softTimeout: .milliseconds(5), waitsForOthers: false),
                ReadOptions(skipsReading: [.redis], softTimeout: .milliseconds(5)),
            ] {
                #expect(try await cache.get("k", options) == "old")
            }
            source.gate.open()
            await cache.drain(within: .seconds(30))
        }
    }
}
