import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Fetches that hang, fail or end late", .leavesNothing, .timeLimit(.minutes(5)))
struct SourceFaultTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let slow = CountingSource()
    private let quick = CountingSource()

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    /// One instance fetches with its slow source, for as long as the test wants, and another waits for it.
    private func holderAndWaiter(_ server: RedisServer) async throws -> (
        one: FaultInstance, other: FaultInstance, holder: Task<String?, any Error>, waiter: Task<String?, any Error>
    ) {
        let options = LeaseOptions(duration: .seconds(100), renewalLimit: .seconds(1_000), waitLimit: .seconds(1_000))
        let one = try await FaultInstance(server.url, keyspace, slow, options: options)
        let other = try await FaultInstance(server.url, keyspace, quick, options: options)
        quick.gate.open()
        let holder = Task { try await one.cache.get("k") }
        await slow.gate.arrivals()
        let waiter = Task { try await other.cache.get("k") }
        try await other.waits()
        return (one, other, holder, waiter)
    }

    @Test("one that hangs holds its key for as long as it is renewed at most; ended late, it stores nothing")
    func hangs() async throws {
        try await RedisServer.withServer { server in
            // Long enough for the other to find it held on a busy machine.
            let options = LeaseOptions(duration: .seconds(10), renewalLimit: .seconds(5))
            let long = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let one = try await FaultInstance(server.url, keyspace, slow, options: options)
            let other = try await FaultInstance(server.url, keyspace, quick, options: long)
            slow.set("old")
            quick.set("new")
            quick.gate.open()
            let hanging = Task { try await one.cache.get("k") }
            await slow.gate.arrivals()
            #expect(try await other.cache.get("k") == "new")
            #expect(other.statistics.waits == 1)
            #expect(other.statistics.stores == 1)
            slow.gate.open()
            #expect(try await hanging.value == "old")
            #expect(one.statistics.refusedStores == 1)
            #expect(one.remembers("k") == nil)
            #expect(try await one.cache.get("k") == "new")
        }
    }

    @Test("one that throws is shared: reads that wait in other instances get the failure, and none tries at once")
    func throwsForAll() async throws {
        try await RedisServer.withServer { server in
            let options = LeaseOptions(
                duration: .seconds(60),
                renewalLimit: .seconds(600),
                failureBackOff: .seconds(100) ... .seconds(1_000)
            )
            let one = try await FaultInstance(server.url, keyspace, slow, options: options)
            let other = try await FaultInstance(server.url, keyspace, quick, options: options)
            slow.fail(true)
            quick.gate.open()
            let first = Task { try await one.cache.get("k") }
            await slow.gate.arrivals()
            let second = Task { try await other.cache.get("k") }
            try await other.waits()
            slow.gate.open()
            await #expect(throws: CountingSource.Failure()) { try await first.value }
            let shared = await #expect(throws: CacheError.self) { try await second.value }
            #expect(shared?.code == .sourceFailed)
            await #expect(throws: CountingSource.Failure()) { try await one.cache.get("k") }
            #expect(slow.calls == 1)
            #expect(quick.calls == 0)
            // Whoever changes the key wants it to be tried again.
            try await other.cache.remove("k")
            #expect(try await other.cache.get("k") == "value")
        }
    }

    @Test("the key is removed while others wait: one of them fetches at once, whatever becomes of the fetch under way")
    func removedWhileWaiting() async throws {
        try await RedisServer.withServer { server in
            quick.set("new")
            let (_, other, holder, waiter) = try await holderAndWaiter(server)
            try await FaultInstance(server.url, keyspace, quick).cache.remove("k")
            #expect(try await waiter.value == "new")
            #expect(quick.calls == 1)
            slow.gate.open()
            _ = try await holder.value
            #expect(try await other.cache.get("k") == "new")
        }
    }

    @Test("failures in a row are counted, and each doubles the time without a further try")
    func counted() async throws {
        try await RedisServer.withServer { server in
            let options = LeaseOptions(
                duration: .seconds(60),
                renewalLimit: .seconds(600),
                failureBackOff: .seconds(10) ... .seconds(1_000)
            )
            slow.fail(true)
            slow.gate.open()
            // The fifth failure, whose time is over.
            try await server.command(
                bytes: [
                    Array("SET".utf8), names.lease.bytes, Array("F5:x".utf8), Array("PX".utf8), Array("30000".utf8),
                ]
            )
            let instance = try await FaultInstance(server.url, keyspace, slow, options: options)
            await #expect(throws: CountingSource.Failure()) { try await instance.cache.get("k") }
            let redis = try TestServer.client(of: server)
            let record = try #require(try await redis.get(names.lease))
            guard case .failed(let attempts, _) = LeaseRecord(record) else { return #expect(Bool(false)) }
            #expect(attempts == 6)
            guard case .remaining(let left) = try await redis.timeToLive(of: names.lease) else {
                return #expect(Bool(false))
            }
            // 10 s doubled five times, and the time for which a failure is remembered beyond.
            #expect(left <= .seconds(320) + Lease.failureMemory && left > .seconds(320))
        }
    }

    @Test("no memory at the server: values come from the source, no lease is left behind, and those who wait are told")
    func noEviction() async throws {
        try await RedisServer.withServer { server in
            let (one, other, holder, waiter) = try await holderAndWaiter(server)
            try await server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
            try await server.command("CONFIG", "SET", "maxmemory", "1")
            slow.gate.open()
            #expect(try await holder.value == "value")
            #expect(try await waiter.value == "value")
            #expect(try await server.command("DBSIZE").integer == 1, "the marks")
            try await server.command("CONFIG", "SET", "maxmemory", "0")
            try await other.cache.remove("k")
            try await one.catchUp()
            #expect(try await one.cache.get("k") == "value")
            #expect(one.statistics.stores == 1)
        }
    }

    @Test("a lease that the server evicts: another may fetch, and what the first has fetched is not stored")
    func evictedLease() async throws {
        try await RedisServer.withServer { server in
            let options = LeaseOptions(duration: .seconds(100), renewalLimit: .seconds(1_000))
            let one = try await FaultInstance(server.url, keyspace, slow, options: options)
            let other = try await FaultInstance(server.url, keyspace, quick, options: options)
            slow.set("old")
            quick.set("new")
            quick.gate.open()
            let holder = Task { try await one.cache.get("k") }
            await slow.gate.arrivals()
            try await server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
            try await server.command("CONFIG", "SET", "maxmemory", "1")
            // Everything that can be evicted goes before a command that writes.
            while try await one.redis.exists(names.lease) == 1 { try await server.command("SET", "filler", "x") }
            try await server.command("CONFIG", "SET", "maxmemory", "0")
            #expect(try await other.cache.get("k") == "new")
            slow.gate.open()
            #expect(try await holder.value == "old")
            #expect(one.statistics.refusedStores == 1)
            #expect(try await one.cache.get("k") == "new")
        }
    }

    @Test("scripts that are flushed all the time: every call still does what it should")
    func scriptsFlushed() async throws {
        try await RedisServer.withServer { server in
            let one = try await FaultInstance(server.url, keyspace, quick)
            let other = try await FaultInstance(server.url, keyspace, quick)
            quick.gate.open()
            let flushed = Shared(0)
            let flushing = Task {
                while !Task.isCancelled {
                    try await server.command("SCRIPT", "FLUSH")
                    flushed.withLock { $0 += 1 }
                }
            }
            for round in 0..<30 {
                let before = flushed.withLock { $0 }
                while flushed.withLock({ $0 }) == before { try await nextTurn() }
                quick.set("fetched \(round)")
                try await other.cache.remove("k")
                #expect(try await other.cache.get("k") == "fetched \(round)")
                #expect(try await one.base.level.get("k") == "fetched \(round)")
                try await other.cache.set("set \(round)", for: "k")
                #expect(try await one.base.level.get("k") == "set \(round)")
            }
            flushing.cancel()
            do { try await flushing.value } catch is CancellationError {}
            #expect(flushed.withLock { $0 } >= 30)
            #expect(other.statistics.stores == 30)
            #expect(other.statistics.failures == 0)
            #expect(try await one.redis.exists(names.lease) == 0)
        }
    }
}
