public import Strata

extension RedisCaches {
    /// Invalidates every entry that bears one of these tags, in all caches that this object has made and not removed.
    ///
    /// What tenants have tagged stays: see ``TenantCaches/invalidate(tags:_:)``. One round trip for each cache and each
    /// thousand tags, and sixteen in a cluster, for any number of entries.
    ///
    /// - Parameters:
    ///   - tags: The tags.
    ///   - mode: What becomes of it while Redis is away; `nil`, the default, for what each cache's settings say.
    /// - Returns: Whether it was carried out.
    /// - Throws: The error of the first cache that failed, by name, after all were tried:
    ///   ``/Strata/CacheError/Code/invalidTags``, ``RedisError``; with ``/Strata/RemovalMode/deferred`` no error of an
    ///   outage, unless a level has no room to keep it. `CancellationError`.
    @discardableResult
    public func invalidate(tags: [String], _ mode: RemovalMode? = nil) async throws -> RemovalOutcome {
        try await members.map(\.member).invalidate(tags: tags, mode)
    }

    /// Forgets everything, also of tenants, in all caches that this object has made and not removed, for all instances.
    ///
    /// One round trip for each cache, and sixteen in a cluster, for any number of entries. The bytes leave Redis when
    /// they expire, or by a sweep. Caches that you have added to ``registry`` yourself stay as they are.
    ///
    /// - Parameter mode: As for ``invalidate(tags:_:)``.
    /// - Returns: Whether it was carried out.
    /// - Throws: As ``invalidate(tags:_:)``.
    @discardableResult
    public func clear(_ mode: RemovalMode? = nil) async throws -> RemovalOutcome {
        try await RemovalCall.run(mode) { try await members.map(\.member).tryEach { try await $0.clear() } }
    }
}

extension [CacheMember] {
    /// Invalidates tags in each cache, as they are stored there.
    ///
    /// - Throws: The first error, after all were tried.
    func invalidate(tags: [String], _ mode: RemovalMode?) async throws -> RemovalOutcome {
        try await RemovalCall.run(mode) { try await tryEach { try await $0.invalidate(tags: tags) } }
    }

    /// Does something with each cache, all at the same time.
    ///
    /// - Throws: The first error, after all were tried.
    fileprivate func tryEach(_ body: @escaping @Sendable (any CacheLevel) async throws -> Void) async throws {
        for outcome in await outcomes({ member in try await body(member.cache) }) { try outcome.get() }
    }
}
