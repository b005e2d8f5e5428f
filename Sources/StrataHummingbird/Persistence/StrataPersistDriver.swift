#if Hummingbird
internal import Foundation
public import Hummingbird
internal import ServiceLifecycle
public import Strata
public import StrataRedis

/// Values that hummingbird persists across requests, such as sessions, in a level of Strata.
///
/// ```swift
/// let redis = try RedisClient("redis://localhost:6379")
/// let persist = StrataPersistDriver(redis, keyspace: "shop-sessions")
/// let application = Application(router: router, services: [redis, persist])
/// ```
///
/// | call | what it does | round trips to Redis |
/// |---|---|---|
/// | `create` | stores a value if the key has none, for the whole fleet; else throws `PersistError.duplicate` | 2 |
/// | `set` with an expiry | replaces value and expiry | 1 |
/// | `set` without an expiry | replaces the value, and leaves the expiry as it was | 2 |
/// | `get`, `getWithTTL` | the value, from memory where it is known to be current | 0, or 1 |
/// | `remove` | forgets the key, in every instance's memory | 1 |
///
/// Values are stored as JSON. A value that cannot be read as the wanted type throws `PersistError.invalidConversion`; a
/// type that reads the same JSON gets it. A value without an expiry lives as long as the level keeps it: a full Redis
/// evicts by its `maxmemory-policy`, and memory without Redis below it evicts by its limit.
///
/// While Redis is away, values that are known to be current come from memory for some seconds; then every call throws.
/// No call returns a value that another instance may have removed meanwhile.
public struct StrataPersistDriver: PersistDriver {
    /// A stored value: JSON.
    public typealias Bytes = [UInt8]

    private let level: any AtomicLevel<String, Bytes>
    private let clock: CacheClock

    /// Values in memory above Redis.
    ///
    /// - Parameters:
    ///   - redis: The server, which is run as a service of its own.
    ///   - keyspace: The part of the database that belongs to these values: the same in all instances of a service, and
    ///     another one in each service. Services that share it share their users' sessions.
    ///   - memory: The bytes of values that each process keeps in memory; 16 MiB.
    public init(_ redis: RedisClient, keyspace: Keyspace, memory: Int = 16 << 20) {
        let policy = FreshnessPolicy(freshFor: .seconds(100 * 365 * 86_400), jitter: 0, earlyRefresh: 0)
        self.init(
            in: MemoryLevel<String, Bytes>(limit: .cost(memory) { $0.count + 128 })
                .compose(RedisLevel(redis, keyspace: keyspace, codec: .bytes, freshness: policy))
        )
    }

    /// Values in a level of your choice that compares and stores in one step: memory, a disk, Redis, or a composition.
    public init(in level: some AtomicLevel<String, Bytes>) {
        self.level = level
        clock = level.clock ?? .current
    }

    /// Stores a value if the key has none; atomic among all that share the level.
    ///
    /// A key whose value has expired has none.
    ///
    /// - Throws: `PersistError.duplicate`; the error of the level.
    public func create<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
        let bytes = try Self.encoded(value)
        let lifetime = expires.map { Self.lifetime(of: $0) } ?? .unlimited
        for _ in 0..<20 {
            if try await level.setIfAbsent(bytes, for: key, lifetime: lifetime) == nil { return }
            guard try await current(key) == nil else { throw PersistError.duplicate }
            // Another has removed it since; or it is past its end by one clock of the level and not by the other, of
            // which they differ by some milliseconds.
            try await clock.rest(for: .milliseconds(5))
        }
        throw PersistError.duplicate
    }

    /// Stores a value in place of any other.
    ///
    /// Without an expiry the older value's stays in force; a value that had none lives on.
    ///
    /// - Throws: The error of the level; ``/Strata/CacheError/Code/conflict`` when others keep changing the key.
    public func set<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
        let bytes = try Self.encoded(value)
        if let expires {
            try await level.set(bytes, for: key, lifetime: Self.lifetime(of: expires))
        } else {
            try await level.replace(bytes, for: key, orLiving: .unlimited)
        }
    }

    /// The value of a key; `nil` when it has none, or the value has expired.
    ///
    /// - Throws: `PersistError.invalidConversion`; the error of the level.
    public func get<Object: Codable & Sendable>(key: String, as type: Object.Type) async throws -> Object? {
        try await getWithTTL(key: key, as: type)?.object
    }

    /// The value of a key, and how long it still lives; `nil` for the latter when it does not expire.
    ///
    /// An expiry more than fifty years ahead counts as none.
    ///
    /// - Throws: `PersistError.invalidConversion`; the error of the level.
    public func getWithTTL<Object: Codable & Sendable>(
        key: String,
        as type: Object.Type
    ) async throws -> (object: Object, ttl: Duration?)? {
        guard let (bytes, left) = try await current(key) else { return nil }
        return (try Self.decoded(bytes, as: type), left < .seconds(50 * 365 * 86_400) ? left : nil)
    }

    /// What a key has, and for how long yet: neither what is stale nor what may have been removed by others.
    private func current(_ key: String) async throws -> (bytes: Bytes, left: Duration)? {
        guard let entry = try await level.entry(for: key, ReadRequest(options: .fresh)), let bytes = entry.value,
            !entry.isSuspect
        else { return nil }
        let left = clock.now.duration(to: entry.freshUntil)
        return left > .zero ? (bytes, left) : nil
    }

    /// Removes a key.
    ///
    /// A key that has no value is no error.
    ///
    /// - Throws: The error of the level.
    public func remove(key: String) async throws {
        try await level.remove(key)
    }

    /// No stale value is served here, even if the level's policy allows that for values without a lifetime.
    private static func lifetime(of expiry: Duration) -> EntryLifetime {
        EntryLifetime(freshFor: expiry, staleFor: .zero)
    }

    private static func encoded(_ value: some Encodable) throws -> Bytes {
        Array(try JSONEncoder().encode(value))
    }

    private static func decoded<Object: Decodable>(_ bytes: Bytes, as type: Object.Type) throws -> Object {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch is DecodingError {
            throw PersistError.invalidConversion
        }
    }
}
#endif
