/// One tenant's part of a level that many share: its keys, its tags, and a `clear()` that voids no other tenant's
/// entries.
///
/// It is a value that costs nothing to make and leaves nothing behind: make one for a request, or keep it.
///
/// | operation | what it does at the level inside |
/// |---|---|
/// | get, set, remove, update | the same, with the tenant in the key |
/// | set with tags, `invalidate(tags:)` | the same, with the tenant before each tag |
/// | `clear()` | invalidates the tag that all entries of the tenant bear: one round trip, whatever their number |
///
/// Entries that were set past it, with a ``TenantKey`` at the level inside, do not bear the tenant's tag: `clear()`
/// leaves them. Answers of a ``Source``, of `fetching` and of a ``ClosureFetcher`` bear it, whatever level asks, if the
/// source is asked with the ``TenantKey`` itself. Answers of a fetcher of your own do not bear it, nor do answers for
/// another key that a level below makes of it.
public struct TenantLevel<Base: CacheLevel, Key: Hashable & Sendable>: WrappingLevel where Base.Key == TenantKey<Key> {
    public typealias Value = Base.Value

    /// The level that all tenants share.
    public let base: Base
    /// The tenant whose part this is.
    public let tenant: String
    private let tags: TenantTags

    init(_ base: Base, _ tenant: String) {
        self.base = base
        self.tenant = tenant
        tags = TenantTags(tenant)
    }

    @inlinable
    @inline(__always)
    func inner(_ key: Key) -> TenantKey<Key> { TenantKey(tenant, key) }

    // MARK: Reading

    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await base.entry(for: inner(key), request.asking(for: key))
    }

    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        try await base.entries(for: keys.map { inner($0) }, as: keys, request)
    }

    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        base.resident(inner(key), at: now)
    }

    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        base.resident(inner(key), at: now, &answers)
    }

    public func lacks(_ key: Key, isRead: Bool) -> Bool { base.lacks(inner(key), isRead: isRead) }

    // MARK: Writing

    /// Stores the entry with the tenant's tags.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        try await base.store(stored(entry), for: inner(key))
    }

    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await base.commit(stored(entry), for: inner(key))
    }

    public func remove(_ key: Key) async throws { try await base.remove(inner(key)) }

    /// Voids the entries of this tenant.
    public func removeAll() async throws { try await base.invalidate(tags: [tags.all]) }

    /// Voids the entries of this tenant that bear one of these tags.
    public func invalidate(tags: [String]) async throws {
        try await base.invalidate(tags: tags.map { self.tags.stored($0) })
    }

    public func fingerprint(of key: Key) -> UInt64 { base.fingerprint(of: inner(key)) }

    /// The tags with the tenant before each.
    public func stored(tags: [String]) -> [String] { base.stored(tags: tags.map { self.tags.stored($0) }) }

    /// The tag that all entries of the tenant bear, besides those of the level inside.
    public var commonTags: [String] { base.commonTags + base.stored(tags: [tags.all]) }

    public var label: LevelLabel { LevelLabel("tenant", parts: [base.label]) }

    // MARK: Inside

    private func stored(_ entry: Entry<Value>) -> Entry<Value> {
        var entry = entry
        entry.tags = tags.stored(entry.tags)
        return entry
    }
}

extension TenantLevel: SourcedLevel where Base: SourcedLevel {}

extension TenantLevel: AtomicLevel where Base: AtomicLevel {
    /// Reads the tenant's entry.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? { try await base.current(inner(key)) }

    /// Exchanges the tenant's entry; the new one bears the tenant's tags.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        try await base.exchange(entry.map { stored($0) }, for: inner(key), if: mark)
    }

    /// Changes the lifetime of the tenant's entry.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        try await base.changeLifetime(of: inner(key), change)
    }

    /// Settles the write of the tenant's key.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        try await base.settle(inner(key), write)
    }
}

extension CacheLevel {
    /// One tenant's part of this level.
    ///
    /// ```swift
    /// let acme = carts.tenant("acme")
    /// try await acme.set(cart, for: 7)
    /// ```
    ///
    /// - Parameter name: Any text; different texts are different tenants.
    /// - Returns: The part. It can do all that the level can: a source with each call, updates, tags.
    public func tenant<Inner>(_ name: String) -> TenantLevel<Self, Inner> where Key == TenantKey<Inner> {
        TenantLevel(self, name)
    }
}
