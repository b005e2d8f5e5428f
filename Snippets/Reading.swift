// The samples of docs/batch.md, docs/errors.md, docs/freshness.md and docs/memory.md; `.ci/snippets` compares them.

import Logging
import Strata
import StrataRedis

struct Product: Codable, Sendable {
    var id: Int
    var name: String
}

struct Quote: Codable, Sendable {
    var price: Double
}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
    func products(_ ids: [Int]) async throws -> [Int: Product] { [:] }
}

struct Exchange: Sendable {
    func quote(_ symbol: String) async throws -> Quote? { nil }
    func quotes(_ symbols: [String]) async throws -> [String: Quote] { [:] }
}

/// Stands for the error of a web framework.
struct Abort: Error {
    enum Status: Sendable {
        case notFound
        case serviceUnavailable
    }

    var status: Status

    init(_ status: Status) { self.status = status }
}

func batch(redis: RedisClient, database: Database) async throws {
    // snippet.batch-read
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(
            RedisLevel<Int, Product>(redis, keyspace: "products")
                .fetchingSeveral { ids in try await database.products(ids) }  // [Int: Product]
                .collecting(within: .milliseconds(1))  // optional
        )

    let page = try await products.get([3, 1, 2])  // [Product?], in that order
    // snippet.end
    _ = page
}

func batchPerCall(products: some SourcedLevel<Int, Product>, database: Database) async throws {
    // snippet.batch-per-call
    let page = try await products.get([3, 1, 2]) { missing in try await database.products(missing) }
    // snippet.end
    _ = page
}

func batchAlone(exchange: Exchange) async throws {
    // snippet.batch-alone
    let quotes = MemoryLevel<String, Quote>(limit: .entries(1_000))
        .compose(Source.fetchingSeveral(freshness: .resilient) { symbols in try await exchange.quotes(symbols) })

    let found = try await quotes.get(["SWFT", "RDIS"])
    // snippet.end
    _ = found
}

func failures(products: FetchingLevel<Int, Product>, id: Int) async throws -> Product {
    // snippet.errors-read
    do {
        return try await products.require(id)
    } catch let error as CacheError where error.code == .miss {
        throw Abort(.notFound)
    } catch let error as CacheError where error.code == .timeout || error.code == .sourceFailed {
        throw Abort(.serviceUnavailable)
    }  // an error that the source threw reaches the caller as it is
    // snippet.end
}

func transferred(products: FetchingLevel<Int, Product>, id: Int) async throws -> Product {
    // snippet.errors-transferred
    struct NotFound: TransferableError {
        var transferCode: String { "not-found" }
    }

    do {
        return try await products.require(id)
    } catch is NotFound {
        throw Abort(.notFound)
    } catch let error as CacheError where error.transferred?.code == "not-found" {
        throw Abort(.notFound)
    }
    // snippet.end
}

func freshness(redis: RedisClient, database: Database, exchange: Exchange, id: Int) async throws {
    // snippet.freshness-policy
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(
            RedisLevel(redis, keyspace: "products", freshness: .resilient)
                .fetching { id in try await database.product(id) }
        )
    // snippet.end

    // snippet.freshness-source
    let quotes = MemoryLevel<String, Quote>(limit: .entries(1_000))
        .compose(Source(freshness: .resilient) { symbol in try await exchange.quote(symbol) })
    // snippet.end
    _ = quotes

    // snippet.freshness-options
    let fresh = try await products.get(id, .fresh)  // no stale value, whatever the policy
    let held = try await products.get(id, .cached)  // the source is not asked
    let stale = try await products.get(id, .stale)  // whatever there is, at once
    let reloaded = try await products.get(id, .reload)  // from the source, replacing what there is
    let young = try await products.get(id, ReadOptions(maximumAge: .seconds(5)))  // not older than that
    let shared = try await products.get(id, ReadOptions(skipsReading: [.memory]))  // past a level
    // snippet.end
    _ = (fresh, held, stale, reloaded, young, shared)
}

func memory(logger: Logger) {
    // snippet.memory-levels
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000), lifetime: .seconds(30))
    let pages = MemoryLevel<String, [UInt8]>(limit: .cost(64 << 20) { $0.count }) { removal in
        logger.trace("left memory", metadata: ["cause": "\(removal.cause)"])
    }
    // snippet.end
    _ = (products, pages)
}
