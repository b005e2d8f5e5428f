extension AtomicLevel {
    /// Gives the present value a new lifetime from now on.
    ///
    /// For sessions, and for values that a caller has just verified. Value, tags and age stay. Memory above drops the
    /// key in all instances, and reads it again. Sources are not asked, and a fetch of the key that is under way can no
    /// longer store its value.
    ///
    /// Two round trips to Redis, or one write transaction on disk. The value is neither decoded nor sent.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - lifetime: How long the value is fresh and kept; by default what the policy says. A freshness of zero or
    ///     less removes the key.
    ///   - limit: How long to begin anew when others change the key at the same time; 2 s by default.
    /// - Returns: Whether there was a value; a remembered absence and an expired or invalidated value count as none.
    /// - Throws: As ``update(_:lifetime:tags:within:_:)``.
    @discardableResult
    public func touch(
        _ key: Key,
        lifetime: EntryLifetime = .byPolicy,
        within limit: Duration = .seconds(2)
    ) async throws -> Bool {
        guard lifetime.isNone else { return try await changeLifetime(of: key, .renewed(lifetime), within: limit) }
        let succession = Succession(lifetime: .named(lifetime))
        return try await decide(key, succession, within: limit) { $0?.value == nil ? .leave(false) : .put(nil, true) }
    }

    /// Ends the freshness of the present value, and keeps it as stale.
    ///
    /// For a value that is probably out of date, when an old one is better than none: the next read asks the source,
    /// and gets the stale value while the fetch runs or when it fails, as ``FreshnessPolicy/staleWhileRevalidate`` and
    /// ``FreshnessPolicy/staleIfError`` allow. The stale window begins now. A value without one is removed, as by
    /// ``CacheLevel/remove(_:)``, and so is a remembered absence. A fetch of the key that is under way can no longer
    /// store its value.
    ///
    /// Memory above drops the key in all instances; the level that has the value keeps it.
    ///
    /// Two round trips to Redis, or one write transaction on disk; one more where there is nothing to keep. The value
    /// is neither decoded nor sent.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - limit: How long to begin anew when others change the key at the same time; 2 s by default.
    /// - Returns: Whether the value is kept as stale; false when there is none now.
    /// - Throws: As ``update(_:lifetime:tags:within:_:)``; as `remove` where there is nothing to keep.
    @discardableResult
    public func expire(_ key: Key, within limit: Duration = .seconds(2)) async throws -> Bool {
        if try await changeLifetime(of: key, .expired, within: limit) { return true }
        try await remove(key)
        return false
    }

    private func changeLifetime(
        of key: Key,
        _ change: LifetimeChange,
        within limit: Duration
    ) async throws -> Bool {
        try await repeating(within: limit) {
            try Task.checkCancellation()
            guard let answer = try await unlessChanged({ try await changeLifetime(of: key, change) }) else {
                return nil
            }
            guard let answer else { throw CacheError.notUpdatable }
            return answer
        }
    }
}
