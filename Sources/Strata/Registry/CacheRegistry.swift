/// The caches of a service by name, each with its types.
///
/// Types in Swift are static, so a name stands for one type of cache: a caller that asks for it with other types gets a
/// typed error, and not the values of another cache.
///
/// ```swift
/// let caches = CacheRegistry()
/// let quotes = try caches.cache("quotes") {
///     MemoryLevel<String, Quote>(limit: .entries(1_000)).compose(Source.perCall(freshness: .resilient))
/// }
/// let quote = try await quotes.get("SWFT") { try await exchange.quote("SWFT") }
/// ```
///
/// It holds any composition: memory alone, a disk, Redis. `RedisCaches` of `StrataRedis` makes caches over one Redis
/// from settings, in a registry of this kind. `CacheMetrics.add(_:)` of `StrataObservability` exports all its caches.
public final class CacheRegistry: Sendable {
    /// A cache with a number that no other one has.
    package struct Entry: Sendable {
        package let number: UInt64
        package let cache: any CacheLevel
    }

    private struct State: Sendable {
        var caches: [String: Entry] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())

    /// A registry without caches.
    public init() {}

    // MARK: Adding

    /// Adds a cache.
    ///
    /// - Parameters:
    ///   - cache: Usually the whole composition.
    ///   - name: Its name; any text that is not empty.
    /// - Throws: ``CacheError/Code/nameTaken``.
    public func add(_ cache: some CacheLevel, as name: String) throws(CacheError) {
        _ = try register(cache, as: name)
    }

    /// The same.
    ///
    /// - Returns: The cache's number.
    package func register(_ cache: some CacheLevel, as name: String) throws(CacheError) -> UInt64 {
        guard !name.isEmpty else { throw CacheError(code: .nameTaken, message: "the name is empty") }
        guard let number = enter(cache, as: name) else {
            throw CacheError(code: .nameTaken, message: "another cache has that name")
        }
        return number
    }

    /// - Returns: The cache's number; `nil` where the name is not free.
    private func enter(_ cache: some CacheLevel, as name: String) -> UInt64? {
        state.withLock { state in
            guard state.caches[name] == nil else { return nil }
            state.lastNumber += 1
            state.caches[name] = Entry(number: state.lastNumber, cache: cache)
            return state.lastNumber
        }
    }

    /// The cache of a name, made when it is first asked for.
    ///
    /// Tasks that ask at the same time all get the same cache; any other that was made is dropped.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - make: Makes the cache.
    /// - Returns: The cache.
    /// - Throws: ``CacheError/Code/otherTypes`` when there is one of another type; what `make` throws.
    public func cache<Level: CacheLevel>(_ name: String, or make: () throws -> Level) throws -> Level {
        guard !name.isEmpty else { throw CacheError(code: .nameTaken, message: "the name is empty") }
        while true {
            if let found: Level = try found(name) { return found }
            let made = try make()
            if enter(made, as: name) != nil { return made }
            // Another task was faster.
        }
    }

    // MARK: Finding

    /// The cache of a name, by the type of the composition.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - type: The type of the composition.
    /// - Returns: The cache.
    /// - Throws: ``CacheError/Code/unknownCache``; ``CacheError/Code/otherTypes``.
    public func cache<Level: CacheLevel>(_ name: String, as type: Level.Type = Level.self) throws(CacheError) -> Level {
        guard let found = find(name) else { throw Self.unknown }
        return try cast(found)
    }

    /// The cache of a name, by the types of its keys and values, whatever levels it is made of.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - key: The type of its keys.
    ///   - value: The type of its values.
    /// - Returns: The cache with its type erased.
    /// - Throws: ``CacheError/Code/unknownCache``; ``CacheError/Code/otherTypes``.
    public func cache<Key: Hashable & Sendable, Value: Sendable>(
        _ name: String,
        _ key: Key.Type,
        _ value: Value.Type
    ) throws(CacheError) -> AnyLevel<Key, Value> {
        guard let found = find(name) else { throw Self.unknown }
        guard let level = found as? any CacheLevel<Key, Value> else { throw Self.other(found) }
        return level.normalized()
    }

    /// The names of all caches, in alphabetical order.
    public var names: [String] { state.withLock { $0.caches.keys.sorted() } }

    /// All caches, in the order of their names.
    public var all: [(name: String, cache: any CacheLevel)] {
        entries.map { (name: $0.key, cache: $0.value.cache) }.sorted { $0.name < $1.name }
    }

    /// All caches by their names.
    package var entries: [String: Entry] { state.withLock { $0.caches } }

    /// The numbers of all caches by their names, for a caller with a lock of its own: they keep no cache alive.
    package var numbers: [String: UInt64] { state.withLock { $0.caches.mapValues(\.number) } }

    // MARK: Ending

    /// Forgets a cache: its name is free, and it goes with the last reference to it.
    ///
    /// What it has stored stays where it is; call `clear()` on it before, to remove that, too.
    ///
    /// - Parameter name: Its name.
    /// - Returns: Whether there was one.
    @discardableResult
    public func remove(_ name: String) -> Bool { take(name) != nil }

    /// The same.
    ///
    /// - Returns: The cache. The last reference may end levels, which must not happen under a lock: a caller with a lock
    ///   of its own lets go of it afterwards.
    package func take(_ name: String) -> Entry? { state.withLock { $0.caches.removeValue(forKey: name) } }

    /// Waits for the background work of all caches, for at most `limit`, then cancels the rest.
    public func drain(within limit: Duration) async {
        await withTaskGroup { group in
            for (_, cache) in all { group.addTask { await cache.drain(within: limit) } }
        }
    }

    /// Gives memory of this process back, in all caches.
    public func relieve(_ pressure: MemoryPressure) {
        for (_, cache) in all { cache.relieve(pressure) }
    }

    // MARK: Inside

    /// The cache of a name, if there is one.
    ///
    /// - Throws: ``CacheError/Code/otherTypes``.
    package func found<Level: CacheLevel>(_ name: String) throws(CacheError) -> Level? {
        guard let found = find(name) else { return nil }
        return try cast(found)
    }

    /// Whether there is a cache of a name.
    package func has(_ name: String) -> Bool { state.withLock { $0.caches.keys.contains(name) } }

    private func find(_ name: String) -> (any CacheLevel)? { state.withLock { $0.caches[name]?.cache } }

    private func cast<Level: CacheLevel>(_ found: any CacheLevel) throws(CacheError) -> Level {
        guard let level = found as? Level else { throw Self.other(found) }
        return level
    }

    private static var unknown: CacheError {
        CacheError(code: .unknownCache, message: "no cache has that name")
    }

    private static func other(_ found: some CacheLevel) -> CacheError {
        CacheError(
            code: .otherTypes,
            message: "the cache of that name has other types: it is a \(type(of: found))"
        )
    }
}
