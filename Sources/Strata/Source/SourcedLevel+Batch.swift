extension SourcedLevel {
    /// The values of several keys in their order, from the call's own source where no level has one.
    ///
    /// ```swift
    /// let page = try await products.get([3, 1, 2]) { missing in try await database.products(missing) }
    /// ```
    ///
    /// The source is asked once, for the keys that no level has and that nobody else fetches; of more than 1 000 keys
    /// that memory lacks, once for each thousand. Each key has a flight and a lease of its own, and shares them with
    /// single reads and with other batches. A value that is due is refreshed in the background, and a key whose other
    /// fetch has failed is fetched, by a call of the source for that key alone.
    ///
    /// The source must not read a key of the same call through the cache: it would wait for itself.
    ///
    /// - Parameters:
    ///   - keys: The keys; one that is named twice is read once.
    ///   - options: How the read differs from an ordinary one.
    ///   - fetch: Returns the values of the keys that it gets. A key that it leaves out has no value, and that is
    ///     remembered for ``FreshnessPolicy/absentFor``. It may be run after this call has ended. Its errors reach all
    ///     who wait for one of the keys.
    /// - Returns: The values; `nil` for a key that has none.
    /// - Throws: The error of the source that was asked; ``CacheError/Code/timeout``; `CancellationError`.
    public func get(
        _ keys: [Key],
        _ options: ReadOptions? = nil,
        or fetch: @escaping @Sendable ([Key]) async throws -> [Key: Value]
    ) async throws -> [Value?] {
        try await values(of: keys, options) { try await fetch(Array($0.keys)).mapValues { .value($0) } }
    }

    /// The values of several keys in their order, from the call's own source where no level has one; the source tells
    /// how levels keep its answers.
    ///
    /// - Parameters:
    ///   - keys: The keys; one that is named twice is read once.
    ///   - options: How the read differs from an ordinary one.
    ///   - fetch: Fetches the keys that it gets, given the old value of each, if there is one. A key that it leaves out
    ///     has no value; one that failed by itself has ``FetchOutcome/failure(_:retryAfter:)``.
    /// - Returns: The values; `nil` for a key that has none.
    /// - Throws: As the other form.
    public func get(
        _ keys: [Key],
        _ options: ReadOptions? = nil,
        or fetch: @escaping @Sendable ([Key], [Key: FetchContext<Value>]) async throws -> [Key: FetchOutcome<Value>]
    ) async throws -> [Value?] {
        try await values(of: keys, options) { try await fetch(Array($0.keys), $0) }
    }

    private func values(
        of keys: [Key],
        _ options: ReadOptions?,
        _ fetch: @escaping Fetch<Key, Value>.Several
    ) async throws -> [Value?] {
        var request = ReadRequest(options: options ?? .ordinary)
        request.callSource = CallBatch(fetch)
        return try await values(of: keys, request)
    }
}
