extension CacheLevel {
    /// The values of all keys, in their order.
    ///
    /// The strict batch: no keys give no values; the first failure cancels what is still under way and is thrown. Where
    /// a level can ask for several keys at once, it does (one MGET for Redis).
    ///
    /// ```swift
    /// let products = try await cache.batchGetAll([1, 2, 3])
    /// ```
    ///
    /// - Throws: ``CacheError/Code/miss`` when a key has no value; what the level has thrown; `CancellationError`.
    public func batchGetAll(_ keys: [Key]) async throws -> [Value] {
        try await get(keys)
            .map { value in
                guard let value else { throw CacheError(code: .miss, message: "no level has one of the keys") }
                return value
            }
    }

    /// The values of those keys that have one, in the order of the keys.
    ///
    /// The lenient batch: keys that fail or have no value are left out, and it ends when all have been answered. With
    /// `get(_:)` for several keys, values and keys still correspond.
    ///
    /// - Throws: `CancellationError` when the caller is cancelled, and nothing else.
    public func batchGetSome(_ keys: [Key]) async throws -> [Value] {
        do {
            return try await entries(for: keys, ReadRequest(leavesOutFailures: true)).compactMap { $0?.value }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return []
        }
    }
}
