extension FetchOutcome {
    /// The outcome for a tenant's key, with the tags that are stored.
    ///
    /// An unchanged value keeps its old tags.
    func scoped(by tenant: TenantTags) -> FetchOutcome {
        switch self {
        case .value(let value, let lifetime, let tags):
            .value(value, lifetime: lifetime, tags: tenant.stored(tags))
        case .absent(let lifetime, let tags): .absent(lifetime: lifetime, tags: tenant.stored(tags))
        case .notModified, .doNotStore, .failure: self
        }
    }
}

extension ReadOptions {
    /// The options of a read of a tenant's key, with the tags that are stored.
    func scoped(by tenant: TenantTags) -> ReadOptions {
        guard !tags.isEmpty else { return self }
        var options = self
        options.tags = tags.map { tenant.stored($0) }
        return options
    }
}
