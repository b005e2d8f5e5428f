/// A level whose type is erased, for properties that need a name for it.
///
/// A hit in memory still does not suspend; it costs a dynamic call more than the generic form.
public struct AnyLevel<Key: Hashable & Sendable, Value: Sendable>: AnsweringLevel {
    @usableFromInline
    let base: any CacheLevel<Key, Value>
    /// `base.resident`, compiled where the level was erased and its type was known.
    ///
    /// Called through the existential it would be the generic code, which asks the runtime for every step: four times
    /// the time of a hit.
    @usableFromInline
    let reside: @Sendable (Key, MonotonicInstant, inout ConditionAnswers) -> Resident<Value>?

    /// Erases a level.
    ///
    /// A level that is erased already comes back as it is, without another wrapper.
    @inlinable
    public init(_ level: some CacheLevel<Key, Value>) {
        if let erased = level as? AnyLevel<Key, Value> {
            self = erased
        } else {
            base = level
            reside = { key, now, answers in level.resident(key, at: now, &answers) }
        }
    }

    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if request.spares(base) { return nil }
        return try await base.entry(for: key, request)
    }

    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        if request.spares(base) { return Array(repeating: nil, count: keys.count) }
        return try await base.entries(for: keys, request)
    }

    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? { reside(key, now, &answers) }

    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? {
        try await base.join(key, if: isSought)
    }

    public func lacks(_ key: Key, isRead: Bool) -> Bool { base.lacks(key, isRead: isRead) }

    public func store(_ entry: Entry<Value>, for key: Key) async throws { try await base.store(entry, for: key) }

    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await base.commit(entry, for: key)
    }

    public func remove(_ key: Key) async throws { try await base.remove(key) }

    public func removeAll() async throws { try await base.removeAll() }

    public func invalidate(tags: [String]) async throws { try await base.invalidate(tags: tags) }

    public func relieve(_ pressure: MemoryPressure) { base.relieve(pressure) }

    public var gate: FillGate? { base.gate }

    public func fingerprint(of key: Key) -> UInt64 { base.fingerprint(of: key) }

    /// Whether the level inside has no source of its own.
    public var lacksSource: Bool { base.lacksSource }

    /// Whether the level inside only keeps what it is given.
    public var isStorage: Bool { base.isStorage }

    /// The names by which the level inside knows tags.
    public func stored(tags: [String]) -> [String] { base.stored(tags: tags) }

    /// The tags that each entry of the level inside bears besides its own.
    public var commonTags: [String] { base.commonTags }

    /// The policy by which the level inside dates entries.
    public var policy: FreshnessPolicy? { base.policy }

    /// The clock by which the level inside judges lifetimes.
    public var clock: CacheClock? { base.clock }

    public var keepsTickets: Bool { base.keepsTickets }

    /// Whether a set goes to a source of truth in the level inside.
    public var writesSource: Bool { base.writesSource }

    public var origin: EntryOrigin? { base.origin }

    public func drain(within limit: Duration) async { await base.drain(within: limit) }

    public var label: LevelLabel { base.label }
}

// Only a call shows whether the level inside can compare and store.
extension AnyLevel: AtomicLevel {
    /// The level's current entry; `nil` for a fetcher, which keeps nothing.
    ///
    /// - Throws: ``CacheError/Code/notUpdatable`` where the level inside cannot compare and store; what that level
    ///   throws.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? {
        guard let base = base as? any AtomicLevel<Key, Value> else { return try withoutEntries() }
        return try await base.current(key)
    }

    /// Exchanges the entry at the level inside.
    ///
    /// - Throws: ``CacheError/Code/notUpdatable`` where the level inside cannot compare and store; what that level
    ///   throws.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        guard let base = base as? any AtomicLevel<Key, Value> else { throw CacheError.notUpdatable }
        return try await base.exchange(entry, for: key, if: mark)
    }

    /// Changes the lifetime at the level inside; `nil` for a fetcher, which keeps nothing.
    ///
    /// - Throws: ``CacheError/Code/notUpdatable`` where the level inside cannot compare and store; what that level
    ///   throws.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        guard let base = base as? any AtomicLevel<Key, Value> else { return try withoutEntries() }
        return try await base.changeLifetime(of: key, change)
    }

    /// The answer for a level above, which may take its own entries for all that there is.
    private func withoutEntries<Answer>() throws -> Answer? {
        guard base is any Fetcher else { throw CacheError.notUpdatable }
        return nil
    }

    /// Settles the write at the level inside; `nil` where that cannot compare and store.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        try await (base as? any AtomicLevel<Key, Value>)?.settle(key, write)
    }
}

// Only a call shows whether it can confirm.
extension AnyLevel: ConfirmationRelay {
    package var confirming: (any ConfirmingLevel<Key, Value>)? { base as? any ConfirmingLevel<Key, Value> }
}

extension CacheLevel {
    /// This level with its type erased.
    @inlinable
    public func normalized() -> AnyLevel<Key, Value> { AnyLevel(self) }
}
