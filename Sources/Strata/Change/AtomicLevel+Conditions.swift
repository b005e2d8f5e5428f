extension AtomicLevel {
    /// Sets a value if there is none, for all who share the level.
    ///
    /// ```swift
    /// if let other = try await owners.setIfAbsent(myName, for: job) {
    ///     print("\(other) was first")
    /// }
    /// ```
    ///
    /// Looks at the lowest level that keeps entries, as ``update(_:lifetime:tags:within:_:)`` does: an expired,
    /// invalidated or missing record, or a remembered absence, counts as no value. A stale value that may still be
    /// served counts as one. Sources are not asked.
    ///
    /// Two round trips to Redis, or a read and a write on disk; one, or the read alone, where there is a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Its key.
    ///   - lifetime: How long the value is fresh and kept; by default what the policy says. With a freshness of zero
    ///     or less nothing is kept.
    ///   - tags: The tags by which the value can be invalidated.
    ///   - limit: How long to begin anew when others change the key at the same time; 2 s by default.
    /// - Returns: The value that is there; `nil` when there was none, and this one was stored.
    /// - Throws: As `update`.
    public func setIfAbsent(
        _ value: Value,
        for key: Key,
        lifetime: EntryLifetime = .byPolicy,
        tags: [String] = [],
        within limit: Duration = .seconds(2)
    ) async throws -> Value? {
        let succession = Succession(lifetime: .named(lifetime), tags: tags)
        return try await decide(key, succession, within: limit) { found in
            found?.value.map { .leave($0) } ?? .put(value, nil)
        }
    }
}

extension AtomicLevel where Value: Equatable {
    /// Sets a value if a certain one is there, for all who share the level.
    ///
    /// ```swift
    /// let isMine = try await states.compareAndSet(order, from: .paid, to: .shipped)
    /// ```
    ///
    /// Looks at the lowest level that keeps entries, as ``update(_:lifetime:tags:within:_:)`` does, and compares the
    /// value that the codec decodes from its bytes. Where memory above Redis has that very entry, its value counts as
    /// well, because a codec need not restore it exactly: `.json` loses the last bit of a date. When the value is the
    /// expected one, but changes before the new one is stored, it is compared again.
    ///
    /// Two round trips to Redis, or a read and a write on disk; one, or the read alone, where another value is there.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - expected: The value that must be there; `nil` when there must be none.
    ///   - value: The new value; `nil` removes the key.
    ///   - lifetime: How long the new value is fresh and kept; `nil` keeps the rest of the old value's lifetime, or
    ///     takes the policy's where there was none. A freshness of zero or less removes the key.
    ///   - tags: The tags of the new value; `nil` keeps the old one's.
    ///   - limit: How long to begin anew when others change the key at the same time; 2 s by default.
    /// - Returns: Whether the expected value was there, and the new one is now; false when nothing was changed.
    /// - Throws: As `update`.
    public func compareAndSet(
        _ key: Key,
        from expected: Value?,
        to value: Value?,
        lifetime: EntryLifetime? = nil,
        tags: [String]? = nil,
        within limit: Duration = .seconds(2)
    ) async throws -> Bool {
        let succession = Succession(lifetime: lifetime.map { .named($0) } ?? .kept, tags: tags)
        return try await decide(key, succession, within: limit) { found in
            let old = found?.value
            if old != expected {
                guard let own = await entryAbove(key, as: found), own.value == expected else { return .leave(false) }
            }
            return old == nil && value == nil ? .leave(true) : .put(value, true)
        }
    }
}
