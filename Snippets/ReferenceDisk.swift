// Samples of the documentation of StrataDisk, StrataCrypto and StrataCompression; `.ci/snippets` compares them.

import Strata
import StrataCompression
import StrataDisk
import StrataRedis

#if canImport(StrataCrypto) && Crypto
import StrataCrypto
#endif

struct Product: Codable, Sendable {
    var name: String
}

struct Page: Codable, Sendable {
    var text: String
}

struct Account: Codable, Sendable {
    var iban: String
}

struct Price: Codable, Sendable {
    var cents: Int
}

#if Disk
func diskStore() {
    let store = DiskStore(path: "/var/lib/shop/cache.sqlite")
    let products = DiskLevel<Int, Product>(store, namespace: "products")
    let pages = DiskLevel<String, [UInt8]>(store, namespace: "pages", codec: .bytes, limit: 1 << 30)
    _ = (products, pages)
}

func domain() {
    let options = DiskOptions(durability: .power, corruption: .fail)
    let store = DiskStore(path: "/var/lib/shop/state.sqlite", options: options)
    let flags = MemoryLevel<String, Bool>(limit: .entries(100)).compose(store.domain("flags"))
    _ = flags
}

func providerCache() {
    let cache = ProviderCache(DiskStore(path: "/var/lib/shop/cache.sqlite"), namespace: "shop")
    _ = cache
}
#endif

#if canImport(StrataCrypto) && Crypto
func keyRing(oldSecret: [UInt8], newSecret: [UInt8]) throws {
    let keys = try KeyRing(using: 2, [1: oldSecret, 2: newSecret])
    let codec = Codec<Product>.cbor.encrypted(with: keys)
    _ = codec
}
#endif

func compression(redis: RedisClient) {
    let codec = Codec<Page>.cbor.compressed()  // Zstandard
    let other = Codec<Page>.json.compressed(by: .zlib(level: 9))
    let pages = RedisLevel<Int, Page>(redis, keyspace: "pages", codec: codec)
    _ = (pages, other)
}

#if canImport(StrataCrypto) && Crypto
func protection(redis: RedisClient, oldSecret: [UInt8], newSecret: [UInt8]) throws {
    let keys = try KeyRing(using: 2, [1: oldSecret, 2: newSecret])
    let accounts = RedisLevel<Int, Account>(redis, keyspace: "accounts", codec: .cbor.encrypted(with: keys))
    let prices = RedisLevel<Int, Price>(redis, keyspace: "prices", codec: .json.signed(with: keys))
    _ = (accounts, prices)
}
#endif
