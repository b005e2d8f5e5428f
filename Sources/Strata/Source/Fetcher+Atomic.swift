// A fetcher keeps nothing that could be changed.
extension AtomicLevel where Self: Fetcher {
    /// `nil`: a fetcher keeps no entries.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? { nil }

    /// Never called: a fetcher keeps no entries.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        throw CacheError.notUpdatable
    }

    /// `nil`: a fetcher keeps no entries.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? { nil }
}

extension ClosureFetcher: AtomicLevel {}
