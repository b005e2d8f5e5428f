extension AtomicLevel {
    /// Reads the present value and removes it in one step, for all who share the level.
    ///
    /// For what may be used once: a token, a message for the next page. Of several callers, in all processes, one gets
    /// the value, and the others `nil`. A `get` elsewhere may still find it for a moment, as after a removal.
    ///
    /// Looks at the lowest level that keeps entries, as ``update(_:lifetime:tags:within:_:)`` does: an expired,
    /// invalidated or missing record, or a remembered absence, counts as no value. A stale value that may still be
    /// served counts as one. Sources are not asked. A cache may forget a value at any time, so `nil` does not prove
    /// that another caller has taken it.
    ///
    /// Two round trips to Redis, or a read and a write on disk; the read alone, where there is no value.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - limit: How long to begin anew when others change the key at the same time; 2 s by default.
    /// - Returns: The value, which this caller alone has taken; `nil` when there was none.
    /// - Throws: As `update`. After ``CacheError/Code/outcomeUnknown`` and `CancellationError` the value may be gone,
    ///   and no caller has it.
    public func take(_ key: Key, within limit: Duration = .seconds(2)) async throws -> Value? {
        try await decide(key, Succession(lifetime: .kept), within: limit) { found -> Decision<Value, Value?> in
            guard let value = found?.value else { return .leave(nil) }
            return .put(nil, value)
        }
    }
}
