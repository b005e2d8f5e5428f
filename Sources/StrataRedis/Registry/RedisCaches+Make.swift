public import Strata

extension RedisCaches {
    /// Makes the cache of a name with a source; later requests for the name get it.
    ///
    /// ```swift
    /// try caches.makeCache("products") { (id: Int) in try await database.product(id) }
    /// ```
    ///
    /// - Parameters:
    ///   - name: Its name; any text that is not empty.
    ///   - codec: How values become bytes; `nil` takes what the settings say.
    ///   - fetch: The source.
    /// - Returns: The cache.
    /// - Throws: ``/Strata/CacheError/Code/nameTaken`` when the name has a cache already, whose source is another one
    ///   or none; otherwise as `cache(_:_:_:)`.
    @discardableResult
    public func makeCache<Key: KeyRepresentable, Value: Codable & Sendable>(
        _ name: String,
        codec: Codec<Value>? = nil,
        _ fetch: @escaping @Sendable (Key) async throws -> Value?
    ) throws -> NamedCache<Key, Value> {
        try makeNew(name, codec) { $0.fetching($1, fetch) }
    }

    /// Makes the cache of a name with a source that tells how levels keep its answers.
    ///
    /// - Parameters:
    ///   - name: Its name; any text that is not empty.
    ///   - codec: How values become bytes; `nil` takes what the settings say.
    ///   - fetch: The source.
    /// - Returns: The cache.
    /// - Throws: As the form whose source returns values.
    @discardableResult
    public func makeCache<Key: KeyRepresentable, Value: Codable & Sendable>(
        _ name: String,
        codec: Codec<Value>? = nil,
        _ fetch: @escaping @Sendable (Key, FetchContext<Value>) async throws -> FetchOutcome<Value>
    ) throws -> NamedCache<Key, Value> {
        try makeNew(name, codec) { $0.fetching($1, fetch) }
    }

    /// Makes the cache of a name with a source that fetches several keys in one call; later requests for the name get
    /// it.
    ///
    /// ```swift
    /// let products = try caches.makeCacheFetchingSeveral("products") { (ids: [Int]) in
    ///     try await database.products(ids)
    /// }
    ///
    /// let found = try await products.get([7, 8, 9])  // one query for all that no level has
    /// ```
    ///
    /// - Parameters:
    ///   - name: Its name; any text that is not empty.
    ///   - codec: How values become bytes; `nil` takes what the settings say.
    ///   - fetch: As for `RedisLevel.fetchingSeveral`: a read of several keys asks for those that no level has, and a
    ///     key that the answer leaves out has no value.
    /// - Returns: The cache.
    /// - Throws: As the form with a source for one key.
    @discardableResult
    public func makeCacheFetchingSeveral<Key: KeyRepresentable, Value: Codable & Sendable>(
        _ name: String,
        codec: Codec<Value>? = nil,
        _ fetch: @escaping @Sendable ([Key]) async throws -> [Key: Value]
    ) throws -> NamedCache<Key, Value> {
        try makeNew(name, codec) { $0.fetchingSeveral($1, fetch) }
    }

    /// Makes the cache of a name with a source that fetches several keys in one call and tells how levels keep its
    /// answers.
    ///
    /// - Parameters:
    ///   - name: Its name; any text that is not empty.
    ///   - codec: How values become bytes; `nil` takes what the settings say.
    ///   - fetch: As for `RedisLevel.fetchingSeveral`: it is given the old value of each key, if there is one, and says
    ///     of each what became of it.
    /// - Returns: The cache.
    /// - Throws: As the form with a source for one key.
    @discardableResult
    public func makeCacheFetchingSeveral<Key: KeyRepresentable, Value: Codable & Sendable>(
        _ name: String,
        codec: Codec<Value>? = nil,
        _ fetch: @escaping @Sendable ([Key], [Key: FetchContext<Value>]) async throws -> [Key: FetchOutcome<Value>]
    ) throws -> NamedCache<Key, Value> {
        try makeNew(name, codec) { $0.fetchingSeveral($1, fetch) }
    }

    /// Makes the cache of a name with any source, for values that are not `Codable`.
    ///
    /// ```swift
    /// try caches.composeCache("invoices", codec: Invoice.codec) { (level: RedisLevel<Int, Invoice>, leases) in
    ///     level.fetching(leases) { id in try await billing.invoice(id) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: Its name; any text that is not empty.
    ///   - codec: How values become bytes.
    ///   - source: Puts the source below the level, with the leases that the settings say. It may be run more than
    ///     once, if settings change meanwhile. Leases and a freshness of its own last until the next ``apply(_:)``.
    /// - Returns: The cache.
    /// - Throws: As the other forms.
    @discardableResult
    public func composeCache<Key: KeyRepresentable, Value: Sendable>(
        _ name: String,
        codec: Codec<Value>,
        _ source: (RedisLevel<Key, Value>, LeaseOptions) -> FetchingLevel<Key, Value>
    ) throws -> NamedCache<Key, Value> {
        try make(name, { _ in codec }, isNew: true, source: source)
    }

    private func makeNew<Key: KeyRepresentable, Value: Codable & Sendable>(
        _ name: String,
        _ codec: Codec<Value>?,
        _ source: (RedisLevel<Key, Value>, LeaseOptions) -> FetchingLevel<Key, Value>
    ) throws -> NamedCache<Key, Value> {
        try make(name, { codec ?? $0.standardCodec(of: Value.self) }, isNew: true, source: source)
    }
}
