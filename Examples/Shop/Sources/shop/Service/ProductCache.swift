import Logging
import Strata
import StrataObservability
import StrataRedis

/// The cache of the shop: memory above Redis above the database.
struct ProductCache: Sendable {
    static let keyspace: Keyspace = "shop-products"

    let memory: MemoryLevel<Int, Product>
    let level: RedisLevel<Int, Product>
    /// The whole: what the routes read.
    let products: AnyLevel<Int, Product>

    init(_ redis: RedisClient, _ catalogue: Catalogue, logger: Logger) {
        // Fresh for half a minute. For another half the old value is served at once while one instance asks the
        // database; when that fails, for ten minutes. A database that takes longer than half a second counts as
        // failing for whoever can have an old value; nobody waits longer than ten seconds. That a product does not
        // exist is kept for five seconds.
        var policy = FreshnessPolicy()
        policy.freshFor = .seconds(30)
        policy.staleWhileRevalidate = .seconds(30)
        policy.staleIfError = .seconds(600)
        policy.softTimeout = .milliseconds(500)
        policy.hardTimeout = .seconds(10)
        policy.absentFor = .seconds(5)

        memory = MemoryLevel(limit: .entries(10_000))
        level = RedisLevel(redis, keyspace: Self.keyspace, freshness: policy)
        products =
            memory.compose(
                level.fetchingSeveral { ids, contexts in try await Self.fetch(ids, contexts, catalogue) }
                    // Below memory: a hit there costs no span.
                    .traced(as: "products"),
                // Failures that a caller does not see are logged.
                logger: logger
            )
            .normalized()
    }

    /// Asks the database, for all keys by one query; for a single product that was known, first whether it has changed.
    private static func fetch(
        _ ids: [Int],
        _ contexts: [Int: FetchContext<Product>],
        _ catalogue: Catalogue
    ) async throws -> [Int: FetchOutcome<Product>] {
        if ids.count == 1, let old = contexts[ids[0]]?.old,
            try await catalogue.revision(of: old.id) == old.revision
        {
            return [old.id: .notModified()]
        }
        let found = try await catalogue.products(ids)
        return ids.reduce(into: [:]) { outcomes, id in
            outcomes[id] = .found(found[id], tags: found[id].map { ["category:\($0.category)"] } ?? [])
        }
    }
}
