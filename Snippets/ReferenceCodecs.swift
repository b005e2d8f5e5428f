// Samples of the documentation of StrataCBOR, and of codecs and keys in Strata; `.ci/snippets` compares them.

import Strata
import StrataCBOR
import StrataRedis

#if canImport(StrataCrypto) && Crypto
import StrataCompression
import StrataCrypto
#endif

struct Product: Codable, Sendable, SchemaVersioned {
    static let schemaVersion: UInt32 = 2  // 1 had the price in euros
    var name: String
    var cents: Int
}

struct ProductOfRelease1: Codable, Sendable {
    var name: String
    var euros: Double
}

extension Product {
    init(_ old: ProductOfRelease1) {
        self.init(name: old.name, cents: Int((old.euros * 100).rounded()))
    }
}

struct Cart: Codable, Sendable {
    var products: [Int]
}

struct Database: Sendable {
    func cart(_ id: Int, of tenant: String) async throws -> Cart? { nil }
}

// MARK: Codecs

#if canImport(StrataCrypto) && Crypto
func stages(redis: RedisClient, keys: KeyRing) {
    let codec = Codec<Product>.cbor.compressed().encrypted(with: keys)
    let products = RedisLevel<Int, Product>(redis, keyspace: "products", codec: codec)
    _ = products
}
#endif

func migration() {
    let codec = Codec<Product>.json
        .migrating { older in
            guard older.schema == 1 else { return nil }
            return try Product(Codec<ProductOfRelease1>.json.decode(older.bytes))
        }
    _ = codec
}

// MARK: Keys

struct ProductKey: KeyRepresentable {
    var shop: String
    var id: Int
    var keyBytes: [UInt8] { KeyBytes.joining(shop, id) }
}

func pairs(redis: RedisClient) async throws {
    let stock = RedisLevel<KeyPair<String, Int>, Int>(redis, keyspace: "stock")
    let count = try await stock.get(KeyPair("berlin", 42))
    _ = count
}

func tenants(redis: RedisClient, database: Database) async throws {
    let carts = MemoryLevel<TenantKey<Int>, Cart>(limit: .entries(100_000))
        .compose(
            RedisLevel(redis, keyspace: "carts")
                .fetching { key in try await database.cart(key.key, of: key.tenant) }
        )
    let acme = carts.tenant("acme")
    let cart = try await acme.get(7)
    try await acme.clear()  // no other tenant notices
    _ = cart
}

// MARK: Values without a type

func untyped(redis: RedisClient) async throws {
    let documents = MemoryLevel<String, JSONValue>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "documents", codec: .cbor))

    try await documents.set(["title": "Tea", "price": 349, "tags": ["green", "loose"]], for: "tea")
    let price = try await documents.get("tea")?["price"]?.integer
    _ = price
}

// MARK: CBOR

func copied(product: Product) throws {
    let bytes = try CBOREncoder().encode(product)
    let copy = try CBORDecoder().decode(Product.self, from: bytes)
    _ = copy
}

func selected(bytes: [UInt8]) throws {
    let name = try CBORDecoder().select(String.self, at: "customer", "name", from: bytes)
    _ = name
}
