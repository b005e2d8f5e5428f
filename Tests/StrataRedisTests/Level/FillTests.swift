import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// Whether a right to fill that was taken since then may be lost.
///
/// It lasts for two seconds where a busy machine does not renew it.
func mayLoseFill(since begin: MonotonicInstant) -> Bool {
    // The server counts it by another clock.
    begin.duration(to: .now) > LeaseOptions().duration - .milliseconds(100)
}

/// Reads until what was found below is stored; a second time only where the right to that may be lost.
func untilStored<Key: KeyRepresentable, Value: Sendable>(
    in level: RedisLevel<Key, Value>,
    _ read: () async throws -> Void
) async throws {
    while true {
        let (begin, stores) = (MonotonicInstant.now, level.statistics.stores)
        try await read()
        if level.statistics.stores > stores { return }
        try #require(mayLoseFill(since: begin), "what was found below is not stored")
    }
}

@Suite("A Redis level that is filled from the level below it", .timeLimit(.minutes(5)))
struct FillTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    private func level(of server: RedisServer) throws -> RedisLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
    }

    private var fetcher: ClosureFetcher<String, String> {
        ClosureFetcher { [source] _ in try await source.fetch() }
    }

    /// Ways to put the level above another one.
    enum Shape: CaseIterable {
        case plain
        case belowMemory
        case underMemory
        case wrapped
        case fallback

        func cache(
            _ level: RedisLevel<String, String>,
            _ fetcher: ClosureFetcher<String, String>
        ) -> AnyLevel<String, String> {
            let memory = MemoryLevel<String, String>(limit: .entries(10))
            return switch self {
            case .plain: level.compose(fetcher).normalized()
            case .belowMemory: memory.compose(level).compose(fetcher).normalized()
            case .underMemory: memory.compose(level.compose(fetcher)).normalized()
            case .wrapped:
                level.conditioned { _ in true }.pooled().collecting().capped(4).retry().timeout(.seconds(600))
                    .transformKeys { (key: String) in key }.compose(fetcher).normalized()
            case .fallback:
                level.recover(with: MemoryLevel<String, String>(limit: .entries(10))).compose(fetcher).normalized()
            }
        }
    }

    enum Change: CaseIterable {
        case set
        case remove
        case overwrite
    }

    private func make(_ change: Change, by other: RedisLevel<String, String>) async throws {
        switch change {
        case .set: try await other.set("newer", for: "k")
        case .remove: try await other.remove("k")
        case .overwrite: try await other.redis.set(names.value, Array("theirs".utf8))
        }
    }

    private func expectChange(_ change: Change, in other: RedisLevel<String, String>) async throws {
        #expect(try await other.get("k") == (change == .set ? "newer" : nil))
        while try await other.redis.exists(names.lease) == 1 { try await nextTurn() }
    }

    @Test("a write that may have happened voids what is kept of its key, one that has not happened does not")
    func ambiguous() async throws {
        let redis = try await TestServer.client()
        let level = RedisLevel<String, String>(redis, keyspace: Keyspace(TestServer.uniqueName()), codec: .text)
        let names = level.names(for: "k")
        for (effect, isLive) in [(RedisError.Effect.notApplied, true), (.ambiguous, false)] {
            let ticket = level.shared.ticket(for: names.fingerprint)
            let error = RedisError(code: .connectionLost, message: "lost", effect: effect)
            level.shared.failWrite(names, .random(), error)
            #expect(level.shared.gate.isLive(ticket) == isLive)
        }
        let ticket = level.shared.ticket(for: names.fingerprint)
        level.shared.failWrite(names, .random(), CancellationError())
        #expect(!level.shared.gate.isLive(ticket))
    }

    @Test(
        "what was fetched before another instance's change does not overwrite it",
        arguments: Change.allCases,
        Shape.allCases
    )
    func changed(change: Change, shape: Shape) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(of: server), try level(of: server))
            try await other.ready()
            let cache = shape.cache(one, fetcher)
            let call = Task { try await cache.get("k") }
            await source.gate.arrivals()
            try await make(change, by: other)
            source.gate.open()
            #expect(try await call.value == "value")
            try await expectChange(change, in: other)
            await cache.drain(within: .seconds(30))
            try await expectChange(change, in: other)
            #expect(one.statistics.stores == 0)
        }
    }

    @Test("nothing has changed: the value is stored, under a lease that ends with it", arguments: Shape.allCases)
    func stored(shape: Shape) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(of: server), try level(of: server))
            let cache = shape.cache(one, fetcher)
            let begin = MonotonicInstant.now
            let call = Task { try await cache.get("k") }
            await source.gate.arrivals()
            let isLed = try await other.redis.exists(names.lease) == 1
            #expect(isLed || mayLoseFill(since: begin))
            source.gate.open()
            #expect(try await call.value == "value")
            await cache.drain(within: .seconds(60))
            guard one.statistics.stores == 1 else {
                #expect(mayLoseFill(since: begin))
                return
            }
            #expect(try await other.get("k") == "value")
            #expect(try await other.redis.exists(names.lease) == 0)
            #expect(try await cache.get("k") == "value")
            #expect(source.calls == 1)
            #expect(one.statistics.stores == 1)
        }
    }

    @Test("above a fetching level of its own keyspace, too: no read waits for its own lease", arguments: [false, true])
    func aboveItself(isSameLevel: Bool) async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let one = try level(of: server)
            let below = isSameLevel ? one : RedisLevel(one.redis, keyspace: keyspace, codec: .text)
            for level in [one, below] { try await level.listens() }
            let source = source
            let memory = MemoryLevel<String, String>(limit: .entries(10))
            let cache = memory.compose(one).compose(below.fetching(.lasting) { _ in try await source.fetch() })
            let begin = MonotonicInstant.now
            let read = try await cache.getWithTrace("k")
            #expect(read.value == "value" && source.calls == 1)
            #expect(!read.trace.steps.map(\.event).contains(.waited))
            await cache.drain(within: .seconds(60))
            // What fills the one level is news for the other, which vouches for it no more. Where the one has lost its
            // right, the other stores.
            let stored = try await one.redis.exists(names.value)
            #expect(stored == 0 || mayLoseFill(since: begin))
            while try await one.redis.exists(names.lease) == 1 { try await nextTurn() }
            #expect(try await cache.get(["l", "m"]) == ["value", "value"])
        }
    }

    @Test("a read that leaves Redis out fills it in the same way", arguments: Change.allCases)
    func beside(change: Change) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(of: server), try level(of: server))
            try await one.listens()
            let options = ReadOptions(skipsReading: [.redis])
            let cache = one.compose(fetcher)
            let call = Task { try await cache.get("k", options) }
            await source.gate.arrivals()
            try await make(change, by: other)
            source.gate.open()
            #expect(try await call.value == "value")
            try await expectChange(change, in: other)
            await cache.drain(within: .seconds(60))
            try await untilStored(in: one) {
                let found = try await cache.get("k", options)
                #expect(found == "value")
                await cache.drain(within: .seconds(60))
            }
            #expect(try await other.get("k") == "value")
        }
    }

    @Test("several keys: each is stored only if it has not changed", arguments: Change.allCases)
    func batch(change: Change) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(of: server), try level(of: server))
            let cache = one.compose(fetcher)
            let begin = MonotonicInstant.now
            let call = Task { try await cache.get(["k", "l"]) }
            await source.gate.arrivals(2)
            try await make(change, by: other)
            source.gate.open()
            #expect(try await call.value == ["value", "value"])
            await cache.drain(within: .seconds(60))
            try await expectChange(change, in: other)
            guard one.statistics.stores == 1 else {
                #expect(one.statistics.stores == 0 && mayLoseFill(since: begin))
                return
            }
            #expect(try await other.get("l") == "value")
            #expect(try await other.redis.exists(keyspace.names(for: "l".keyBytes).lease) == 0)
        }
    }

    @Test("what is fetched anew in the background does not overwrite a change either", arguments: Change.allCases)
    func refresh(change: Change) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(of: server), try level(of: server))
            let now = MonotonicInstant.now
            let old = Entry<String>(
                .value("old"),
                freshUntil: now,
                staleUntil: now.advanced(by: .seconds(600)),
                revalidateUntil: now.advanced(by: .seconds(600))
            )
            try await one.store(old, for: "k")
            let cache = one.compose(fetcher)
            #expect(try await cache.get("k", .stale) == "old")
            await source.gate.arrivals()
            try await make(change, by: other)
            source.gate.open()
            await cache.drain(within: .seconds(30))
            try await expectChange(change, in: other)
        }
    }

    @Test("while another instance fetches the key, its value is not stored, and kept above")
    func othersLead() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let one = try level(of: server)
            let memory = MemoryLevel<String, String>(limit: .entries(10))
            let cache = memory.compose(one).compose(fetcher, fillWaitLimit: .seconds(60))
            try await one.ready()
            let held = Array("T0123456789abcdefsomebody".utf8)
            try await one.redis.set(names.lease, held, expiringIn: .seconds(50))
            let read = try await cache.getWithTrace("k")
            #expect(read.value == "value")
            #expect(read.trace.steps.map(\.event).contains(.refused))
            #expect(try await one.redis.exists(names.value) == 0)
            #expect(try await one.redis.get(names.lease) == held)
            #expect(one.statistics.refusedStores == 1)
            #expect(try await cache.get("k") == "value")
            #expect(source.calls == 1)
        }
    }

    @Test("what a newer release has written stays")
    func newerRelease() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let one = try level(of: server)
            try await one.set("old", for: "k")
            var bytes = try #require(try await one.redis.get(names.value))
            bytes[3] += 1
            try await one.redis.set(names.value, bytes)
            #expect(try await one.compose(fetcher).get("k") == "value")
            #expect(try await one.redis.get(names.value) == bytes)
            while try await one.redis.exists(names.lease) == 1 { try await nextTurn() }
        }
    }

    enum Failure: CaseIterable {
        case cancelled
        case failed
        case missing
    }

    @Test("a read that brings nothing leaves no lease behind", arguments: Failure.allCases)
    func leaves(failure: Failure) async throws {
        try await RedisServer.withServer { server in
            let one = try level(of: server)
            let cache = one.compose(fetcher)
            source.fail(failure == .failed)
            if failure == .missing { source.set(nil) }
            let begin = MonotonicInstant.now
            let call = Task { try await cache.get("k") }
            await source.gate.arrivals()
            // It does not run out by itself from now on.
            guard try await server.command(bytes: [Array("PERSIST".utf8), names.lease.bytes]).integer == 1 else {
                #expect(mayLoseFill(since: begin))
                source.gate.open()
                _ = try? await call.value
                return
            }
            if failure == .cancelled { call.cancel() }
            source.gate.open()
            _ = try? await call.value
            while try await one.redis.exists(names.lease) == 1 { try await nextTurn() }
            #expect(try await one.redis.exists(names.value) == 0)
        }
    }

    @Test("the trace says where a fetched value was stored, and where not")
    func trace() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(of: server), try level(of: server))
            let memory = MemoryLevel<String, String>(limit: .entries(10))
            let cache = memory.compose(one.fetching(.lasting) { [source] _ in try await source.fetch() })
            try await one.ready()
            let refused = Task { try await cache.getWithTrace("k").trace }
            await source.gate.arrivals()
            try await other.set("newer", for: "k")
            source.gate.open()
            let steps = try await refused.value.steps
            #expect(steps.filter { $0.event == .refused }.map(\.origin) == [.redis, .memory])
            #expect(!steps.contains { $0.event == .stored })
            try await other.remove("k")
            while try await cache.get("k", .cached) != nil { try await nextTurn() }
            let stored = try await cache.getWithTrace("k").trace.steps
            #expect(stored.filter { $0.event == .stored }.map(\.origin) == [.redis, .memory])
            #expect(!stored.contains { $0.event == .refused })
        }
    }

    @Test("a clear during the fetch voids what is stored")
    func cleared() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(of: server), try level(of: server))
            let cache = one.compose(fetcher)
            let call = Task { try await cache.get("k") }
            await source.gate.arrivals()
            try await other.clear()
            source.gate.open()
            #expect(try await call.value == "value")
            #expect(try await other.get("k") == nil)
        }
    }

    @Test("what comes from a level below is as old in Redis as it was there")
    func age() async throws {
        let level = try await RedisLevel<String, String>(TestServer.client(), keyspace: keyspace, codec: .text)
        let below = MemoryLevel<String, String>(limit: .entries(10))
        let now = MonotonicInstant.now
        let old = now.advanced(by: .seconds(-50))
        try await below.store(
            Entry(.value("v"), freshUntil: now.advanced(by: .seconds(600)), storedAt: old),
            for: "k"
        )
        let cache = level.compose(below)
        try await untilStored(in: level) {
            let found = try await cache.get("k")
            #expect(found == "v")
            await cache.drain(within: .seconds(60))
        }
        let found = try #require(try await level.entry(for: "k", ReadRequest()))
        #expect(try #require(found.age(at: .now)) >= .seconds(50))
    }
}
