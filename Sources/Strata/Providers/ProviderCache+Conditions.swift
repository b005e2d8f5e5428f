extension ProviderCache {
    /// Sets the value of a record if there is none, for all who share the cache.
    ///
    /// As `setIfAbsent` of a level: two round trips to Redis, or one where there is a value. No loader is asked. A
    /// record of an older release, or of a provider with another type, counts as none.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - provider: Names the record, and says how long it lives.
    ///   - limit: How long to begin anew when others change the record at the same time; 2 s by default.
    /// - Returns: The value that is there; `nil` when there was none, and this one was stored.
    /// - Throws: As ``update(_:within:_:)``.
    public func setIfAbsent<Provider: CacheProvider>(
        _ value: Provider.Value,
        for provider: Provider,
        within limit: Duration = .seconds(2)
    ) async throws -> Provider.Value? {
        let record = try ProviderRecord(value, of: provider)
        let succession = Succession(lifetime: .named(lifetime(of: provider)), tags: tags(of: provider))
        return try await levels.decide(ProviderRecord.Key(provider), succession, within: limit) { found in
            try Self.value(of: found?.value, for: provider).map { .leave($0) } ?? .put(record, nil)
        }
    }

    /// Sets the value of a record if a certain one is there, for all who share the cache.
    ///
    /// As `compareAndSet` of a level: two round trips to Redis, one where another value is there. No loader is asked.
    /// The rest of the old record's lifetime stays.
    ///
    /// - Parameters:
    ///   - provider: Names the record.
    ///   - expected: The value that must be there; `nil` when there must be none.
    ///   - value: The new value; `nil` removes the record.
    ///   - limit: How long to begin anew when others change the record at the same time; 2 s by default.
    /// - Returns: Whether the expected value was there, and the new one is now; false when nothing was changed.
    /// - Throws: As ``update(_:within:_:)``.
    public func compareAndSet<Provider: CacheProvider>(
        _ provider: Provider,
        from expected: Provider.Value?,
        to value: Provider.Value?,
        within limit: Duration = .seconds(2)
    ) async throws -> Bool where Provider.Value: Equatable {
        let record = try value.map { try ProviderRecord($0, of: provider) }
        let key = ProviderRecord.Key(provider)
        return try await levels.decide(key, succession(of: provider), within: limit) { found in
            if try Self.value(of: found?.value, for: provider) != expected {
                guard let own = await levels.entryAbove(key, as: found),
                    try Self.value(of: own.value, for: provider) == expected
                else { return .leave(false) }
            }
            return found?.value == nil && record == nil ? .leave(true) : .put(record, true)
        }
    }

    /// Gives the record that is there the lifetime of its provider anew, from now on.
    ///
    /// As `touch` of a level: the value is neither decoded nor sent, so a record of another release counts, too.
    ///
    /// - Parameters:
    ///   - provider: Names the record.
    ///   - lifetime: How long the record is fresh and kept; `nil` for what the provider says.
    ///   - limit: How long to begin anew when others change the record at the same time; 2 s by default.
    /// - Returns: Whether there was a record.
    /// - Throws: As ``update(_:within:_:)``.
    @discardableResult
    public func touch(
        _ provider: some CacheProvider,
        lifetime: EntryLifetime? = nil,
        within limit: Duration = .seconds(2)
    ) async throws -> Bool {
        let lifetime = lifetime ?? self.lifetime(of: provider)
        return try await levels.touch(ProviderRecord.Key(provider), lifetime: lifetime, within: limit)
    }

    /// Ends the freshness of the record that is there, and keeps it as stale.
    ///
    /// As `expire` of a level: the next read asks its loader, and gets the stale value as the provider's lifetime and
    /// the policy of the cache allow. A record without a stale window is evicted.
    ///
    /// - Parameters:
    ///   - provider: Names the record.
    ///   - limit: How long to begin anew when others change the record at the same time; 2 s by default.
    /// - Returns: Whether the record is kept as stale; false when there is none now.
    /// - Throws: As ``update(_:within:_:)``; as ``evict(_:of:)`` where there is nothing to keep.
    @discardableResult
    public func expire(_ provider: some CacheProvider, within limit: Duration = .seconds(2)) async throws -> Bool {
        try await levels.expire(ProviderRecord.Key(provider), within: limit)
    }

    /// How long a record that is set lives.
    func lifetime(of provider: some CacheProvider) -> EntryLifetime {
        provider.lifetime == .byPolicy ? lifetime : provider.lifetime
    }

    /// How a changed record is made from the one before.
    func succession(of provider: some CacheProvider) -> Succession {
        // Its end, where a level has set one, begins anew.
        let kept: Succession.Lifetime = provider.lifetime == .unlimited ? .named(.unlimited) : .kept
        return Succession(lifetime: kept, tags: tags(of: provider), first: lifetime(of: provider))
    }

    /// The value of a record that a call changes; `nil` for one of an older release or of another type.
    ///
    /// - Throws: ``CacheError/Code/codec`` for the record of a newer release, which stays.
    static func value<Provider: CacheProvider>(
        of record: ProviderRecord?,
        for provider: Provider
    ) throws(CacheError) -> Provider.Value? {
        do throws(ProviderRecord.Unreadable) {
            return try record?.value(for: provider)
        } catch {
            guard error == .other else {
                throw CacheError(code: .codec, message: "a newer release has written the record")
            }
            return nil
        }
    }
}
