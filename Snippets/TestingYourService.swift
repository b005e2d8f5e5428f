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
@Test func aProductIsFetchedAnewAfterItsLifetime() async throws {
    try await RedisServer.withServer { server in
        let clock = ManualClock()
        let price = Mutex("old")
        let shop = try clock.driving { try Shop(server.url) { _ in price.withLock { $0 } } }
        #expect(try await shop.products.get(1) == "old")

        price.withLock { $0 = "new" }
        try clock.advance(by: .seconds(280))
        #expect(try await shop.products.get(1) == "old")
        try clock.advance(by: .seconds(21))  // five minutes in all
        #expect(try await shop.products.get(1) == "new")
        await shop.redis.shutDown()
    }
}
// snippet.end

// snippet.testing-clock-fleet
@Test func oneInstanceFetchesAnewForAll() async throws {
    try await RedisServer.withServer { server in
        let clock = ManualClock()
        let calls = Mutex(0)
        func shop() throws -> Shop {
            try Shop(server.url) { id in "product \(id), fetch \(calls.withLock { $0 += 1; return $0 })" }
        }
        let (first, second) = try clock.driving { (try shop(), try shop()) }
        for shop in [first, second] { #expect(try await shop.products.get(1) == "product 1, fetch 1") }

        try await clock.advance(by: .seconds(301), with: server)
        for shop in [first, second] { #expect(try await shop.products.get(1) == "product 1, fetch 2") }
        for shop in [first, second] { await shop.redis.shutDown() }
    }
}
// snippet.end

// snippet.testing-stale
@Test func aStaleValueIsServedWhenTheSourceFails() async throws {
    let clock = ManualClock()
    let isDown = Mutex(false)
    let products = clock.driving {
        MemoryLevel<Int, String>(limit: .entries(10))
            .compose(
                Source(freshness: FreshnessPolicy(freshFor: .seconds(60), staleIfError: .seconds(3_600))) { id in
                    if isDown.withLock({ $0 }) { throw Unavailable() }
                    return "product \(id)"
                }
            )
    }
    #expect(try await products.get(1) == "product 1")

    isDown.withLock { $0 = true }
    try clock.advance(by: .seconds(61))
    let (value, trace) = try await products.getWithTrace(1)
    #expect(value == "product 1")
    #expect(trace.state == .stale)
    #expect(trace.staleReason == .failed)

    try clock.advance(by: .seconds(3_600))
    await #expect(throws: Unavailable.self) { try await products.get(1) }
}
// snippet.end

// snippet.testing-retry
@Test func aSlowSourceIsTriedAgain() async throws {
    let clock = ManualClock()
    let calls = Mutex(0)
    let careful = clock.driving {
        ClosureFetcher<Int, String> { id in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if call == 1 { throw Unavailable() }
            return "product \(id)"
        }
        .retry(RetryPolicy(times: 1, delay: .seconds(60)))
    }

    async let product = careful.get(1)
    await clock.sleepers(1)  // the pause has begun
    try clock.advance(by: .seconds(60))
    #expect(try await product == "product 1")
}
// snippet.end

// snippet.testing-early
@Test func aValueOfASlowSourceIsFetchedBeforeItsEnd() async throws {
    let clock = ManualClock()
    let gate = AsyncGate()
    let calls = Mutex(0)
    let reports = clock.driving {
        MemoryLevel<Int, String>(limit: .entries(10))
            .compose(
                Source(freshness: FreshnessPolicy(freshFor: .seconds(60), earlyRefresh: 1_000)) { id in
                    calls.withLock { $0 += 1 }
                    try await gate.pass()
                    return "report \(id)"
                }
            )
    }
    async let first = reports.get(1)
    await gate.arrivals()
    try clock.advance(by: .seconds(5))  // this fetch takes five seconds
    gate.open()
    #expect(try await first == "report 1")

    while calls.withLock({ $0 }) == 1 {
        try clock.advance(by: .milliseconds(100))
        #expect(try await reports.getWithTrace(1).trace.state == .fresh)  // no read waits
        await reports.drain(within: .seconds(60))
    }
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

        let clock = ManualClock()
        let shop = try clock.driving { try Shop(server.url) { id in "product \(id)" } }
        try await clock.advance(by: .seconds(3), with: server)  // the lease has ended
        #expect(try await shop.products.get(42) == "product 42")
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
