extension AtomicLevel {
    /// Applies actions to a cached list, as one ``update(_:lifetime:tags:within:_:)``.
    ///
    /// A missing list is an empty one. The list's age begins anew: it is fresh and kept for as long again as it was
    /// when it was made.
    ///
    /// - Parameters:
    ///   - actions: What happens to the list.
    ///   - key: Its key.
    ///   - lifetime: How long the list is fresh and kept; `nil` for as long again, or for the policy's lifetime where
    ///     there is no list. A freshness of zero or less removes it.
    ///   - tags: The tags of the list; `nil` keeps the old ones.
    ///   - limit: How long to begin anew when others change the list at the same time; 2 s by default.
    /// - Returns: The list as it is stored.
    /// - Throws: As `update`.
    @discardableResult
    public func apply<Element>(
        _ actions: ListActions<Element>,
        to key: Key,
        lifetime: EntryLifetime? = nil,
        tags: [String]? = nil,
        within limit: Duration = .seconds(2)
    ) async throws -> [Element] where Value == [Element] {
        let succession = Succession(lifetime: lifetime.map { .named($0) } ?? .restarted, tags: tags)
        return try await update(key, succession, within: limit) { actions.applied(to: $0 ?? []) } ?? []
    }
}
