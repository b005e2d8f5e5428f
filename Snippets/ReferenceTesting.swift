// Samples of the documentation of StrataTesting; `.ci/snippets` compares them.

import Strata
import StrataRedis
import StrataTesting
import Synchronization
import Testing

struct Shop: Sendable {
    let redis: RedisClient
    let products: AnyLevel<Int, String>

    init(_ url: String) throws {
        redis = try RedisClient(url)
        let policy = FreshnessPolicy(freshFor: .seconds(60))
        let level = RedisLevel<Int, String>(redis, keyspace: "products", freshness: policy)
        products = MemoryLevel(limit: .entries(1_000)).compose(level.fetching { id in "product \(id)" }).normalized()
    }
}

final class MyLevel: CacheLevel {
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

func makeCache(_ redis: RedisClient) -> some CacheLevel<Int, String> {
    MemoryLevel<Int, String>(limit: .entries(1_000))
        .compose(RedisLevel(redis, keyspace: "products").fetching { id in "product \(id)" })
}

// MARK: The module

@Test func survivesAnOutage() async throws {
    try await RedisServer.withServer { server in
        let cache = try makeCache(RedisClient(server.url))
        try await server.pause()
        #expect(try await cache.get(42) == "product 42")
        try await server.resume()
    }
}

// MARK: Time

func moving(server: RedisServer) async throws {
    let clock = ManualClock()
    let shop = try clock.driving { try Shop(server.url) }  // every level, source and client in it goes by the clock

    #expect(try await shop.products.get(1) == "product 1")
    try clock.advance(by: .seconds(61))
    // A value that is fresh for a minute is stale now.
}

func movingWithServer(clock: ManualClock, server: RedisServer, instance: InstanceProcess) async throws {
    try await instance.kill()  // it dies with a lease
    try await clock.advance(by: .seconds(3), with: server)  // the lease has ended
}

// MARK: Servers

func privateServer() async throws {
    let server = try await RedisServer.start(.init(directives: ["maxmemory 1mb"]))
    let client = try RedisClient(server.url)
    try await client.ping()
    try await server.pause()  // frozen: accepts connections, answers nothing
    try await server.resume()
    try await server.restart(keepingData: false)
    try await server.stop()
}

func command(server: RedisServer) async throws -> Int64? {
    try await server.command("CONFIG", "SET", "maxmemory", "1mb")
    let size = try await server.command("DBSIZE").integer
    return size
}

func replicated() async throws {
    let replication = try await RedisReplication.start()
    try await replication.primary.kill()
    let promoted = try await replication.waitForFailover(from: replication.primary)
    try await replication.stop()
    _ = promoted
}

func clustered() async throws {
    let cluster = try await RedisCluster.start()
    let owner = try await cluster.owner(of: 42)
    try await cluster.stop()
    _ = owner
}

func scripted() async throws {
    // The same bytes to everybody, whatever they ask:
    let broken = try await ScriptedServer.start(script: [.receive(1), .send(text: "$5\r\nab"), .close])

    // An answer to each command:
    let slow = try await ScriptedServer.start(answering: { command, _ in
        command == ["PING"] ? [.trickle(text: "+PONG\r\n")] : [.hang]
    })
    await broken.stop()
    await slow.stop()
}

func encrypted() async throws {
    let authority = try await TestAuthority.make()
    let certificate = try await authority.issue()
    let tls = RedisServer.TLS(certificate, authorities: authority.certificate)
    let server = try await RedisServer.start(.init(tls: tls))
    try await server.stop()
}

// MARK: Faults

func faults(server: RedisServer, seed: UInt64) async throws {
    let proxy = try await FaultProxy.start(to: server.endpoint, seed: seed)
    let client = try RedisClient(proxy.url)
    try await client.ping()
    proxy.stall(.toClient)  // replies stop; nothing is closed
    proxy.resume()
    proxy.set(.pieces(of: 1...7))  // small pieces of random size, both ways
    proxy.edit(.swallow(5), .toClient)  // the next 5 bytes of replies vanish
    proxy.edit(.close(after: 100), .toClient, of: .live)
    proxy.resetConnections()
    await proxy.stop()
}

func waiting(proxy: FaultProxy) async throws {
    try await proxy.wait { $0.counts.toServer.received > 0 }
}

func killing(server: RedisServer) async throws {
    let path = try InstanceProcess.builtProduct(named: "cache-instance")
    let instance = try await InstanceProcess.start(path, arguments: [server.url])
    try await instance.send("get 42")
    for await line in instance.lines where line == "fetching 42" { break }
    try await instance.kill()
}

// MARK: Contracts

@Test func myLevelConforms() async {
    let suite = CacheLevelConformance { MyLevel() }
    for finding in await suite.run() { Issue.record("\(finding)") }
}

@Test func myCacheConforms() async {
    let suite = SourceConformance { source in
        MemoryLevel<String, String>(limit: .entries(100))
            .compose(ClosureFetcher { (key: String) in try await source(key) })
    }
    for finding in await suite.run() { Issue.record("\(finding)") }
}
