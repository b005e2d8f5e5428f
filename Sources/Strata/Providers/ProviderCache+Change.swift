extension ProviderCache {
    /// Changes the value of a record without losing a concurrent change.
    ///
    /// As `update` of a level: two round trips to Redis, and the same again after each conflict. No loader is asked; a
    /// record that is missing, expired, evicted or of another type is `nil`.
    ///
    /// - Parameters:
    ///   - provider: Names the record.
    ///   - limit: How long to begin anew when others change the record at the same time; 2 s by default.
    ///   - change: From the old value to the new one, perhaps several times; `nil` removes the record.
    /// - Returns: What the closure has returned.
    /// - Throws: As `update` of a level; ``CacheError/Code/codec`` for the record of a newer release, which stays.
    @discardableResult
    public func update<Provider: CacheProvider>(
        _ provider: Provider,
        within limit: Duration = .seconds(2),
        _ change: (Provider.Value?) async throws -> Provider.Value?
    ) async throws -> Provider.Value? {
        try await update(provider, succession(of: provider), within: limit, change)
    }

    /// Applies actions to the list of a record, as one update.
    ///
    /// A missing list is an empty one. The record's age begins anew.
    ///
    /// - Parameters:
    ///   - actions: What happens to the list.
    ///   - provider: Names the record.
    ///   - limit: How long to begin anew when others change the record at the same time; 2 s by default.
    /// - Returns: The list as it is stored.
    /// - Throws: As ``update(_:within:_:)``.
    @discardableResult
    public func apply<Provider: CacheProvider, Element>(
        _ actions: ListActions<Element>,
        to provider: Provider,
        within limit: Duration = .seconds(2)
    ) async throws -> [Element] where Provider.Value == [Element] {
        let lifetime: Succession.Lifetime = provider.lifetime == .byPolicy ? .restarted : .named(provider.lifetime)
        let succession = Succession(lifetime: lifetime, tags: tags(of: provider), first: self.lifetime)
        return try await update(provider, succession, within: limit) { actions.applied(to: $0 ?? []) } ?? []
    }

    private func update<Provider: CacheProvider>(
        _ provider: Provider,
        _ succession: Succession,
        within limit: Duration,
        _ change: (Provider.Value?) async throws -> Provider.Value?
    ) async throws -> Provider.Value? {
        let record = try await levels.update(ProviderRecord.Key(provider), succession, within: limit) { record in
            let old = try Self.value(of: record, for: provider)
            return try await change(old).map { try ProviderRecord($0, of: provider) }
        }
        do throws(ProviderRecord.Unreadable) {
            return try record?.value(for: provider)
        } catch {
            throw CacheError(code: .codec, message: "the new value cannot be decoded")
        }
    }
}
