extension FetchOutcome {
    /// The outcome for a tenant's key, with the tags that are stored.
    ///
    /// What is unchanged has them already.
    func scoped(by key: some Any) -> FetchOutcome {
        guard let key = key as? any TenantScoped else { return self }
        let scope = TenantTags(key.tenant)
        return switch self {
        case .value(let value, let lifetime, let tags):
            .value(value, lifetime: lifetime, tags: scope.stored(tags))
        case .absent(let lifetime, let tags): .absent(lifetime: lifetime, tags: scope.stored(tags))
        case .notModified, .doNotStore, .failure: self
        }
    }
}
