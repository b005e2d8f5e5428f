extension ProviderCache {
    /// What becomes of the old records when an evicting read cannot load.
    public enum FailedLoad: Sendable, Hashable {
        /// They are still evicted.
        case evicts
        /// They stay.
        case keeps
    }

    /// Evicts records; no loader is asked.
    ///
    /// One record takes one removal, other scopes the invalidation of one tag, whatever they void.
    ///
    /// - Parameters:
    ///   - scope: How much goes.
    ///   - provider: Names the records.
    /// - Throws: ``CacheError/Code/invalidScope`` for the key of a provider without one; the error of the level that
    ///   could not be reached.
    public func evict(_ scope: ProviderScope, of provider: some CacheProvider) async throws {
        if let tag = try provider.tag(of: scope) {
            try await levels.invalidate(tag: tag)
        } else {
            try await levels.remove(ProviderRecord.Key(provider))
        }
    }

    /// Evicts the records of all providers.
    public func clear() async throws {
        try await levels.removeAll()
    }

    /// Removes the records whose lifetime is over from disk, and tells which; for the start of a service.
    ///
    /// Records that may still be served as stale stay. Redis removes expired records by itself: a cache over it has
    /// nothing to do here, and reports nothing.
    ///
    /// - Parameter report: Told each key, once it is gone.
    /// - Returns: How many there were.
    /// - Throws: The error of the disk; `CancellationError`. What was reported until then is gone.
    @discardableResult
    public func removeExpired(_ report: (ProviderRecord.Key) -> Void = { _ in }) async throws -> Int {
        try await sweep?(report) ?? 0
    }

    /// The value of a record from its loader, whatever levels hold; then the rest of the scope is evicted.
    ///
    /// The loader always runs: the call joins no load of others that is under way, ignores the pause after a failure,
    /// and an old value does not shorten the wait (``FreshnessPolicy/softTimeout``). Until the loader has answered,
    /// other reads get the old values. Where it fails, or takes longer than ``FreshnessPolicy/hardTimeout``, and the
    /// policy of the cache allows it (``FreshnessPolicy/staleIfError``), the old value is returned and nothing is
    /// evicted.
    ///
    /// For more than one record there are three steps: the load, the invalidation, and the store of what was loaded.
    /// The last is left out where another caller has changed the record or invalidated a tag meanwhile, and the next
    /// read loads again. For one record the level is asked whether it has what was loaded, which is a round trip to
    /// Redis; if not, the record is removed, or, while Redis is away, as soon as it is back.
    ///
    /// - Parameters:
    ///   - provider: Names the record.
    ///   - scope: How much goes.
    ///   - whenLoadFails: What becomes of the old records when there is no value.
    ///   - load: Returns the value.
    /// - Returns: The value.
    /// - Throws: ``CacheError/Code/invalidScope`` before anything is loaded; the loader's error, alone or, when
    ///   eviction failed as well, as the last cause of ``CacheError/Code/levelsFailed``; for more than one record the
    ///   error of the level that could not be reached, for one record that of a level where it could be neither
    ///   replaced nor removed, nor its removal kept for later; `CancellationError` when the task is cancelled before
    ///   the value is there, and then nothing is evicted.
    public func value<Provider: CacheProvider>(
        of provider: Provider,
        evicting scope: ProviderScope,
        whenLoadFails: FailedLoad = .evicts,
        orLoad load: @escaping @Sendable () async throws -> Provider.Value
    ) async throws -> Provider.Value {
        try await valueWithTrace(of: provider, evicting: scope, whenLoadFails: whenLoadFails, orLoad: load).value
    }

    /// The value of a record from its loader, whatever levels hold, with an account of where it was found; then the
    /// rest of the scope is evicted.
    ///
    /// - Returns: The value, and the account of the read that has brought it: of the load, or of the old value that
    ///   stands in for one.
    /// - Throws: As ``value(of:evicting:whenLoadFails:orLoad:)``.
    public func valueWithTrace<Provider: CacheProvider>(
        of provider: Provider,
        evicting scope: ProviderScope,
        whenLoadFails: FailedLoad = .evicts,
        orLoad load: @escaping @Sendable () async throws -> Provider.Value
    ) async throws -> (value: Provider.Value, trace: ReadTrace) {
        let tag = try provider.tag(of: scope)
        let hasLoaded = Locked(false)
        let loaded: Reading<Provider.Value>
        do {
            loaded = try await read(provider, .fromOwnLoader, insists: true) {
                let value = try await load()
                hasLoaded.withLock { $0 = true }
                return value
            }
        } catch {
            // A loader may throw it by itself.
            guard whenLoadFails == .evicts, !(error is CancellationError && Task.isCancelled) else { throw error }
            do { try await evict(scope, of: provider) } catch let failure {
                throw CacheError.combining([failure, error])
            }
            throw error
        }
        guard let value = loaded.value else { throw CacheError.missing }
        // The trace of an old value says why it stands in for one that could not be loaded, or not in time.
        guard hasLoaded.withLock({ $0 }), loaded.trace.staleReason == nil else { return (value, loaded.trace) }
        let key = ProviderRecord.Key(provider)
        let stored = try? await levels.current(key)
        let bytes = loaded.record?.bytes
        let kept = bytes == nil ? nil : stored?.entry.flatMap { $0.value?.bytes == bytes ? $0 : nil }
        guard tag != nil else {
            // A value that was loaded beside others, or past the record of a newer release, is stored nowhere: the
            // record in the levels is older. While a server is away, it is removed as soon as the server is back.
            if kept == nil { try await levels.remove(key, .deferred) }
            return (value, loaded.trace)
        }
        let account = InvalidationAccount()
        try await InvalidationAccount.$current.withValue(account) { try await evict(scope, of: provider) }
        // This value must not undo what others have set, removed or evicted since it was asked for.
        if let stored, let kept { try? await levels.restore(kept, for: key, after: stored.mark, account) }
        return (value, loaded.trace)
    }
}

extension ReadOptions {
    /// From the caller's own loader: a load of others may have begun before what it evicts has changed.
    fileprivate static var fromOwnLoader: ReadOptions {
        ReadOptions(source: .always, softTimeout: .seconds(1 << 32), waitsForOthers: false)
    }
}
