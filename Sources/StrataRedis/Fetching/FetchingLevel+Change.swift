public import Strata

extension FetchingLevel: AtomicLevel {
    /// What Redis has; the source is not asked.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? { try await level.current(key) }

    /// Changes what Redis has; a running fetch can no longer store its value.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        void(key)
        defer { void(key) }
        return try await level.exchange(entry, for: key, if: mark)
    }

    /// Changes what Redis has; a running fetch can no longer store its value.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        void(key)
        defer { void(key) }
        return try await level.changeLifetime(of: key, change)
    }

    /// Asks Redis; a running fetch can no longer store its value, unless this only looks.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        if write.step != .looks { void(key) }
        defer { if write.step != .looks { void(key) } }
        return try await level.settle(key, write)
    }
}
