// The samples of docs/testing.md; `.ci/snippets` compares the two.

import Foundation
import Strata
import StrataRedis
import StrataTesting
import Synchronization
import Testing

struct Unavailable: Error {}

// snippet.testing-service
/// What is tested: the cache of a service, made from an address and a source.
struct Shop: Sendable {
    let redis: RedisClient
    let level: RedisLevel<Int, String>
    let products: AnyLevel<Int, String>

    init(
        _ url: String,
        keyspace: Keyspace = "products",
        _ load: @escaping @Sendable (Int) async throws -> String?
    ) throws {
        redis = try RedisClient(url)
        level = RedisLevel(redis, keyspace: keyspace)
        products = MemoryLevel(limit: .entries(1_000)).compose(level.fetching { id in try await load(id) }).normalized()
    }
}
// snippet.end

// snippet.testing-server
@Test func aValueIsFetchedOnce() async throws {
    try await RedisServer.withServer { server in
        let calls = Mutex(0)
        let shop = try Shop(server.url) { id in
            calls.withLock { $0 += 1 }
            return "product \(id)"
        }
        #expect(try await shop.products.get(1) == "product 1")
        #expect(try await shop.products.get(1) == "product 1")
        #expect(calls.withLock { $0 } == 1)
        await shop.redis.shutDown()
    }
}
// snippet.end

// snippet.testing-shared
@Test func testsMayShareAServer() async throws {
    let server = try await RedisServer.shared()
    let keyspace = Keyspace("products", prefix: "test \(UUID())")
    let shop = try Shop(server.url, keyspace: keyspace) { id in "product \(id)" }
    #expect(try await shop.products.get(1) == "product 1")
    try await shop.products.clear()
    await shop.redis.shutDown()
}
// snippet.end

// snippet.testing-two-instances
@Test(.timeLimit(.minutes(1))) func aRemovalReachesTheOtherInstance() async throws {
    try await RedisServer.withServer { server in
        let price = Mutex("old")
        let first = try Shop(server.url) { _ in price.withLock { $0 } }
        let second = try Shop(server.url) { _ in price.withLock { $0 } }
        try await first.level.ready()
        try await second.level.ready()
        #expect(try await second.products.get(1) == "old")

        price.withLock { $0 = "new" }
        try await first.products.remove(1)
        while try await second.products.get(1) != "new" { try await nextTurn() }

        await first.redis.shutDown()
        await second.redis.shutDown()
    }
}
// snippet.end

// snippet.testing-outage
@Test(.timeLimit(.minutes(1))) func anOutageIsAMiss() async throws {
    try await RedisServer.withServer { server in
        let proxy = try await FaultProxy.start(to: server.endpoint)
        let shop = try Shop(proxy.url) { id in "product \(id)" }
        #expect(try await shop.products.get(1) == "product 1")

        proxy.stall()  // Redis hangs: nothing is answered, nothing is closed
        #expect(try await shop.products.get(2) == "product 2")

        try proxy.admit(.refuse)  // Redis is gone
        proxy.resetConnections()
        #expect(try await shop.products.get(3) == "product 3")

        try proxy.heal()
        try await shop.level.ready()
        #expect(try await shop.products.get(4) == "product 4")

        await shop.redis.shutDown()
        await proxy.stop()
    }
}
// snippet.end

// snippet.testing-gate
@Test func readersShareAFetch() async throws {
    let gate = AsyncGate()
    let calls = Mutex(0)
    let source = Source<Int, String> { id in
        calls.withLock { $0 += 1 }
        try await gate.pass()  // the fetch stops here until the test opens the gate
        return "product \(id)"
    }
    let products = MemoryLevel<Int, String>(limit: .entries(10)).compose(source)

    async let first = products.get(1)
    await gate.arrivals()
    async let second = products.get(1)
    gate.open()
    #expect(try await [first, second] == ["product 1", "product 1"])
    #expect(calls.withLock { $0 } == 1)
}
// snippet.end

// snippet.testing-clock
@Test func aSlowSourceIsTriedAgain() async throws {
    let clock = ManualClock()
    let calls = Mutex(0)
    let source = ClosureFetcher<Int, String> { id in
        let call = calls.withLock { calls in
            calls += 1
            return calls
        }
        if call == 1 { throw Unavailable() }
        return "product \(id)"
    }
    let careful = source.retry(RetryPolicy(times: 1, delay: .seconds(10), jitter: 0), clock: clock)

    async let product = careful.get(1)
    await clock.sleepers(1)  // the pause has begun
    clock.advance(by: .seconds(10))
    #expect(try await product == "product 1")
}
// snippet.end

// snippet.testing-stale
@Test func aStaleValueIsServedWhenTheSourceFails() async throws {
    let memory = MemoryLevel<Int, String>(limit: .entries(10))
    let products = memory.compose(ClosureFetcher { _ in throw Unavailable() as any Error })

    let now = MonotonicInstant.now
    let old = Entry(
        .value("old"),
        freshUntil: now.advanced(by: .seconds(-1)),
        staleUntil: now.advanced(by: .seconds(60))
    )
    try await memory.store(old, for: 1)

    let (value, trace) = try await products.getWithTrace(1)
    #expect(value == "old")
    #expect(trace.state == .stale)
    #expect(trace.staleReason == .failed)
}
// snippet.end

// snippet.testing-process
@Test func anInstanceThatIsKilledHoldsNobodyUp() async throws {
    try await RedisServer.withServer { server in
        let path = try InstanceProcess.builtProduct(named: "shop")  // an executable target of your package
        let instance = try await InstanceProcess.start(path, environment: ["REDIS_URL": server.url])
        try await instance.send("get 42")
        for await line in instance.lines where line == "fetching 42" { break }
        try await instance.kill()  // it dies with the lease of key 42

        let shop = try Shop(server.url) { id in "product \(id)" }
        #expect(try await shop.products.get(42) == "product 42")  // after the rest of the lease, 2 s at most
        await shop.redis.shutDown()
    }
}
// snippet.end

// snippet.testing-own-level
final class DictionaryLevel: CacheLevel {
    private let entries = Mutex<[String: Entry<String>]>([:])

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
        entries.withLock { $0[key] }
    }

    func store(_ entry: Entry<String>, for key: String) async throws {
        entries.withLock { $0[key] = entry }
    }

    func remove(_ key: String) async throws {
        entries.withLock { $0[key] = nil }
    }

    func removeAll() async throws {
        entries.withLock { $0 = [:] }
    }
}

@Test func myLevelConforms() async {
    let suite = CacheLevelConformance { DictionaryLevel() }
    for finding in await suite.run() { Issue.record("\(finding)") }
}
// snippet.end

// snippet.testing-own-source
@Test func myCacheHonoursTheOptionsOfReads() async {
    let suite = SourceConformance { source in
        MemoryLevel<String, String>(limit: .entries(100))
            .compose(ClosureFetcher { (key: String) in try await source(key) })
    }
    for finding in await suite.run() { Issue.record("\(finding)") }
}
// snippet.end

// snippet.testing-scripted
@Test func aServerThatOnlyLoads() async throws {
    let server = try await ScriptedServer.start(answering: { command, _ in
        switch command[0] {
        case "PING": [.send(text: "+PONG\r\n")]
        case "CLIENT": [.send(text: "+OK\r\n")]
        default: [.send(text: "-LOADING Redis is loading the dataset in memory\r\n")]
        }
    })
    let shop = try Shop(server.url) { id in "product \(id)" }
    #expect(try await shop.products.get(1) == "product 1")
    await shop.redis.shutDown()
    await server.stop()
}
// snippet.end
