// The samples of docs/coming-from-carlos.md; `.ci/snippets` compares the two.

#if Disk
import Foundation
import Strata
import StrataDisk
import StrataRedis

#if canImport(StrataHTTP) && HTTP
import StrataHTTP
#endif

struct Product: Codable, Sendable {
    var name: String
    var cents: Int
}

struct NotReady: Error {}

func samples(redis: RedisClient, load: @escaping @Sendable (Int) async throws -> Product?) async throws {
    let isReady = true
    let store = DiskStore(path: "/var/lib/shop/cache.sqlite")

    // snippet.compose
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(DiskLevel(store, namespace: "products"))
        .compose(ClosureFetcher { id in try await load(id) })

    let product = try await products.get(42)
    try await products.set(Product(name: "kettle", cents: 1_950), for: 42)
    try await products.remove(42)
    try await products.clear()
    // snippet.end

    // snippet.miss
    if let product = try await products.get(42) { print(product.name) }
    let certain = try await products.require(42)
    // snippet.end

    // snippet.closures
    let level = ClosureLevel<Int, Product> { id in
        try await load(id)
    } set: { product, id in
        print("set", id, product.name)
    }
    let fetcher = ClosureFetcher<Int, Product> { id in try await load(id) }
    // snippet.end

    // snippet.keys
    let byURL = MemoryLevel<String, Product>(limit: .entries(100))
        .transformKeys { (url: URL) in url.path }
    // snippet.end

    // snippet.values
    let bytes = MemoryLevel<Int, [UInt8]>(limit: .entries(100))
    let encoded = bytes.transformValues(Codec<Product>.cbor)
    let texts = bytes.transformValues(.text(.utf8))
    let prices = level.transformValues(
        TwoWayTransformer { product in
            product.cents
        } inverse: { cents in
            Product(name: "", cents: cents)
        }
    )
    // snippet.end

    // snippet.post-process
    let shouted = level.postProcess { product in
        Product(name: product.name.uppercased(), cents: product.cents)
    }
    // snippet.end

    // snippet.conditioned
    let guarded = level.conditioned { _ in
        guard isReady else { throw NotReady() }
        return true
    }
    // snippet.end

    // snippet.pooled
    let pooled = fetcher.pooled()
    let capped = fetcher.capped(4)
    // snippet.end

    // snippet.switch
    let lanes = switchLevels(level, fetcher) { id in id < 1_000 ? .first : .second }
    // snippet.end

    // snippet.batch
    let all = try await products.batchGetAll([1, 2, 3])
    let some = try await products.batchGetSome([1, 2, 3])
    let lists = products.allBatch()
    let pair = try await lists.get([1, 2])
    // snippet.end

    // snippet.futures
    let careful =
        fetcher
        .timeout(.seconds(2))
        .retry(RetryPolicy(times: 3))
        .recover { _, _ in Product(name: "unknown", cents: 0) }
    // snippet.end

    // snippet.transformers
    let number = TwoWayTransformer<String, Int> { text in
        guard let number = Int(text) else { throw NotReady() }
        return number
    } inverse: { number in
        String(number)
    }
    let inverted = number.inverted()
    let plusOne = number.compose(
        TwoWayTransformer {
            $0 + 1
        } inverse: {
            $0 - 1
        }
    )
    let positive = number.conditioned {
        !$0.hasPrefix("-")
    } inverse: {
        $0 >= 0
    }
    let day = TwoWayTransformer(Date.ISO8601FormatStyle().year().month().day())
    // snippet.end

    // snippet.defaults
    let flags: DiskLevel<String, Bool> = store.domain("flags")
    let settings = MemoryLevel<String, Bool>(limit: .entries(100)).compose(flags)
    // snippet.end

    #if canImport(StrataHTTP) && HTTP
    // snippet.data-cache
    let pages = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(1_000))
        .compose(HTTPCache(in: DiskLevel(store, namespace: "http"), HTTPFetcher()).pooled())
    let page = try await pages.get(HTTPResource("https://example.com/"))
    // snippet.end
    _ = page
    #endif

    // snippet.fleet
    let shared = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "products").fetching { id in try await load(id) })
    // snippet.end

    // snippet.erased
    let erased: AnyLevel<Int, Product> = products.normalized()
    // snippet.end

    // snippet.print
    print(products)
    // composed
    //   composed
    //     memory, at most 10000 entries
    //     disk, namespace products in /var/lib/shop/cache.sqlite, at most 104857600 bytes
    //   fetcher
    // snippet.end

    _ = (product, certain, byURL, encoded, texts, prices, shouted, guarded, pooled, capped, lanes, all, some, pair)
    _ = (careful, inverted, plusOne, positive, day, settings, shared, erased)
}
#endif
