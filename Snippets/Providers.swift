// The samples of docs/providers.md and the part of docs/coming-from-rxcache.md on providers; `.ci/snippets` compares
// them.

#if Disk
import Strata
import StrataDisk
import StrataRedis

struct Finding: Codable, Sendable {
    var name: String
}

struct Account: Codable, Sendable, Equatable {
    var name: String
}

struct Search: Sendable {
    func popular() async throws -> [Finding] { [] }
    func findings(_ filter: String, page: Int) async throws -> [Finding] { [] }
    func account(_ id: Int) async throws -> Account { Account(name: "ann") }
}

// snippet.providers-declared
enum Findings: CacheProvider {
    typealias Value = [Finding]
    case popular
    case found(by: String, page: Int)

    var key: ProviderKey {
        switch self {
        case .popular: .single
        case .found(let filter, let page): .group(filter, page)
        }
    }
    var lifetime: EntryLifetime { EntryLifetime(freshFor: .seconds(300), staleFor: .seconds(3_600)) }
}

extension CacheProvider where Self == Provider<Account> {
    static func account(_ id: Int) -> Self { Provider("account", key: .key(id)) }
}
// snippet.end

func providerSamples(search: Search, redis: RedisClient, store: DiskStore) async throws {
    // snippet.providers-cache
    let cache = ProviderCache(redis, keyspace: "search", freshness: .resilient)  // memory over Redis
    let local = ProviderCache(store, namespace: "search")  // memory over a file
    // snippet.end

    // snippet.providers-sweep
    let count = try await local.removeExpired { key in print("expired: \(key)") }
    // snippet.end
    print(count)

    // snippet.providers-read
    let popular = try await cache.value(of: Findings.popular) { try await search.popular() }
    let account = try await cache.value(of: .account(7)) { try await search.account(7) }
    let (page, trace) = try await cache.valueWithTrace(of: Findings.found(by: "swift", page: 2)) {
        try await search.findings("swift", page: 2)
    }
    let kept = try await cache.value(of: Findings.popular)  // what some level has, or nil
    // snippet.end
    print(popular, account, page, trace, kept as Any)

    // snippet.providers-evict
    let second = Findings.found(by: "swift", page: 2)
    try await cache.evict(.record, of: second)  // this page
    try await cache.evict(.key, of: second)  // all pages of the filter
    try await cache.evict(.provider, of: second)  // all pages of all filters
    try await cache.clear()  // all providers
    // snippet.end

    // snippet.providers-evicting-read
    let renewed = try await cache.value(of: second, evicting: .key) { try await search.findings("swift", page: 2) }
    // snippet.end
    print(renewed)

    // snippet.providers-change
    try await cache.update(.account(7)) { old in old.map { Account(name: $0.name.uppercased()) } }
    try await cache.apply(ListActions().addFirst(Finding(name: "new")).evictLast(), to: Findings.popular)
    // snippet.end

    // snippet.providers-conditions
    let other = try await cache.setIfAbsent(Account(name: "ANN"), for: .account(7))
    let isChanged = try await cache.compareAndSet(.account(7), from: Account(name: "ANN"), to: Account(name: "BEA"))
    try await cache.touch(.account(7))  // lives for its provider's lifetime again
    try await cache.expire(Findings.popular)  // reloaded by the next read; the old value if that fails
    // snippet.end
    print(other as Any, isChanged)
}
#endif
