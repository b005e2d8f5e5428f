// The samples of docs/coming-from-rxcache.md and docs/coming-from-caches.md; `.ci/snippets` compares the two.

#if Disk
import Strata
import StrataDisk
import StrataRedis

struct Repository: Codable, Sendable {
    var name: String
    var stars: Int
}

// snippet.rx-keys
/// A page of what a user's filter has found.
struct PageKey: KeyRepresentable {
    var user: String
    var filter: String
    var page: Int
    var keyBytes: [UInt8] { KeyBytes.joining(user, filter, page) }
}
// snippet.end

struct Service: Sendable {
    func repositories(of user: String) async throws -> [Repository]? { [] }
    func repositories(_ key: PageKey) async throws -> [Repository]? { [] }
}

struct Profile: Codable, Sendable {
    var name: String
}

struct Users: Sendable {
    func profile(_ id: Int) async throws -> Profile? { nil }
}

func rxSamples(service: Service, redis: RedisClient) async throws {
    // snippet.rx-provider
    let store = DiskStore(path: "/var/lib/app/cache.sqlite")
    let policy = FreshnessPolicy(freshFor: .seconds(300), jitter: 0, earlyRefresh: 0)

    let repositories = MemoryLevel<String, [Repository]>(limit: .entries(1_000))
        .compose(DiskLevel(store, namespace: "repositories", limit: 300 << 20))
        .compose(Source(freshness: policy) { user in try await service.repositories(of: user) })

    let list = try await repositories.get("ann")
    // snippet.end

    // snippet.rx-fleet
    let shared = MemoryLevel<String, [Repository]>(limit: .entries(1_000))
        .compose(
            RedisLevel(redis, keyspace: "repositories", freshness: policy)
                .fetching { user in try await service.repositories(of: user) }
        )
    // snippet.end

    // snippet.rx-reply
    let (value, trace) = try await repositories.getWithTrace("ann")
    switch trace.origin {
    case .memory?: print("memory")
    case .disk?: print("disk")
    case .source?: print("the source")
    default: print("nowhere")
    }
    // snippet.end

    // snippet.rx-life
    let fiveMinutes = FreshnessPolicy(freshFor: .seconds(300))
    let never = FreshnessPolicy.immutable  // thirty days
    let young = try await repositories.get("ann", ReadOptions(maximumAge: .seconds(60)))  // this read wants less
    // snippet.end

    // snippet.rx-expired
    let careful = FreshnessPolicy(freshFor: .seconds(300), staleIfError: .seconds(86_400))
    // snippet.end

    // snippet.rx-pages
    let pages = RedisLevel<PageKey, [Repository]>(redis, keyspace: "pages")
        .fetching { key, _ in
            .found(
                try await service.repositories(key),
                tags: ["user:\(key.user)", "filter:\(key.user):\(key.filter)"]
            )
        }
    let page = try await pages.get(PageKey(user: "ann", filter: "swift", page: 2))
    // snippet.end

    // snippet.rx-evict
    let key = PageKey(user: "ann", filter: "swift", page: 2)
    _ = try await pages.get(key, .reload)  // from the source, whatever is kept
    try await pages.remove(key)  // one page
    try await pages.invalidate(tag: "filter:ann:swift")  // all pages of a filter
    try await pages.invalidate(tag: "user:ann")  // everything of a user
    try await pages.clear()  // the whole provider
    // snippet.end

    // snippet.rx-actions
    let actions = ListActions<Repository>()
        .addFirst(Repository(name: "new", stars: 0))
        .evict { $0.name == "old" }
        .evictAll(keepingFirst: 50)
    let changed = try await shared.apply(actions, to: "ann")
    // snippet.end
    _ = changed

    _ = (list, value, fiveMinutes, never, young, careful, page)
}

func plainRedis(redis: RedisClient, users: Users) async throws {
    // snippet.rx-plain-before
    func profile(_ id: Int) async throws -> Profile? {
        let key = RedisKey("profile:\(id)")
        if let bytes = try await redis.get(key) { return try Codec<Profile>.json.decode(bytes) }
        guard let profile = try await users.profile(id) else { return nil }
        try await redis.set(key, Codec<Profile>.json.encode(profile), expiringIn: .seconds(300))
        return profile
    }
    // snippet.end

    // snippet.rx-plain-after
    let profiles = MemoryLevel<Int, Profile>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "profiles").fetching { id in try await users.profile(id) })
    // snippet.end

    // snippet.rx-key-value
    let carts = MemoryLevel<String, [Int]>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "carts"))

    try await carts.set([7, 9], for: "ann", lifetime: EntryLifetime(freshFor: .seconds(300)))
    let cart = try await carts.get("ann")
    try await carts.remove("ann")
    // snippet.end

    // snippet.rx-create
    let isFirst = try await redis.set("nonce:4711", [], expiringIn: .seconds(60), if: .absent)
    // snippet.end
    _ = (try await profile(1), profiles, cart, isFirst)
}
#endif
