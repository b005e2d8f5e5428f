// The samples of docs/recipes.md and docs/operating.md about a service that runs; `.ci/snippets` compares them.

import Strata
import StrataRedis

struct Product: Codable, Sendable {
    var id: Int
    var name: String
}

struct User: Codable, Sendable {
    var mail: String
}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
}

struct SearchIndex: Sendable {
    func update(_ key: String) async {}
    func rebuild() async {}
}

func reacting(redis: RedisClient, search: SearchIndex) async throws {
    let level = RedisLevel<String, User>(redis, keyspace: "users")
    // snippet.recipe-changes
    for await change in level.changes() {
        switch change {
        case .changed(let name):
            guard let key = KeyspaceEntryName(name)?.userKey else { continue }
            await search.update(String(decoding: key, as: UTF8.self))
        case .listening, .tagsChanged, .everythingChanged:
            await search.rebuild()
        case .untrusted:
            break  // `listening` comes when changes are reported again
        }
    }
    // snippet.end
}

func pressure(database: Database) async throws {
    // snippet.recipe-pressure
    let products = MemoryLevel<Int, Product>(limit: .entries(1_000_000))
        .compose(ClosureFetcher { id in try await database.product(id) })
    MemoryPressureMonitor.shared.subscribe(products)  // until the process ends, or until what it returns is cancelled

    MemoryPressureMonitor.shared.report(.moderate)  // pressure that you have found out yourself
    products.relieve(.moderate)  // what the monitor calls: sheds the coldest quarter
    // snippet.end
}

func traces(redis: RedisClient, database: Database) async throws {
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "products").fetching { id in try await database.product(id) })
    // snippet.recipe-trace
    let (product, trace) = try await products.getWithTrace(42)
    print(trace)
    for step in trace.steps {
        print(step.origin, step.event, step.duration, step.reason ?? "", step.whom ?? "", step.error ?? "")
    }
    // snippet.end
    _ = product

    // snippet.recipe-trace-batch
    let (several, account) = try await products.getWithTrace([41, 42, 43])
    print(account)
    // snippet.end
    _ = several

    // snippet.recipe-trace-failed
    let recorder = ReadTraceRecorder()
    do {
        _ = try await products.entry(for: 42, ReadRequest(recorder: recorder))
    } catch {
        for step in recorder.steps { print(step) }
    }
    // snippet.end
}

func options() async throws {
    // snippet.recipe-options
    var configuration = try RedisConfiguration(url: "redis://cache.internal:6379")
    configuration.redisBudget = .milliseconds(200)
    let redis = try RedisClient(configuration)
    let policy = FreshnessPolicy(freshFor: .seconds(60), staleIfError: .seconds(3_600))
    let products = RedisLevel<Int, Product>(redis, keyspace: "products", freshness: policy)
    // snippet.end
    _ = products
}

func operating(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-counters
    let memory = MemoryLevel<Int, Product>(limit: .entries(10_000))
    let level = RedisLevel<Int, Product>(redis, keyspace: "products")
    let products = memory.compose(level.fetching { id in try await database.product(id) })

    func report() {
        for node in products.label.nodes {
            for counter in node.label.counters { print("\(node.path).\(counter.name)", counter.value) }
        }
        print("memory hit ratio", memory.statistics.hitRatio, "evictions", memory.statistics.evictions)
        print("uncoordinated fetches", level.statistics.uncoordinatedFetches)
    }
    // snippet.end
    report()

    // snippet.recipe-health
    let health = redis.outageStatistics
    if health.isImpaired {
        for (role, breaker) in health.breakers where breaker.state != .closed { print(role, breaker.state) }
        if let reason = health.untrustedReason { print("changes are not reported:", reason) }
    }
    print("invalidations to be repeated:", health.pendingInvalidations, "given up:", health.droppedInvalidations)
    // snippet.end

    // snippet.recipe-empty
    try await products.clear()  // one script: nothing that was there before is served any more
    try await level.sweep(rate: 2_000) { print("\($0.removed) of \($0.looked) removed") }  // gives the memory back
    // snippet.end

    // snippet.recipe-shutdown
    await products.drain(within: .seconds(5))  // fetches in the background
    await redis.shutDown(within: .seconds(1))  // failed invalidations and calls under way
    // snippet.end
}

func sentinels() throws {
    // snippet.which-redis-sentinel
    let redis = try RedisClient("redis-sentinel://:password@10.0.0.1,10.0.0.2,10.0.0.3/?master=mymaster")
    // snippet.end
    _ = redis
}
