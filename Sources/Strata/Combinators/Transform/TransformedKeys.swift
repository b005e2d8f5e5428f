/// A level that is asked by other keys: each is transformed into one of the level's own.
///
/// ```swift
/// let pages = RedisLevel<String, Page>(redis, keyspace: "pages").transformKeys { (url: URL) in url.path }
/// ```
///
/// In a composition each level can have its own transformation, and sees only its own kind of key. Values pass
/// unchanged. A transformation that throws ends the call with its error, and the level is not touched; above another
/// level, a get then goes on to that level.
///
/// Keys that become equal share an entry.
public struct TransformedKeys<Base: CacheLevel, Key: Hashable & Sendable>: WrappingLevel {
    public typealias Value = Base.Value

    /// The level that has the transformed keys.
    public let base: Base
    @usableFromInline
    let step: Step<Key, Base.Key>

    @inlinable
    init(_ base: Base, _ step: Step<Key, Base.Key>) {
        self.base = base
        self.step = step
    }

    /// The level's entry of the transformed key.
    ///
    /// - Throws: What the transformer or the level throws.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        let inner = try await step(key)
        let ticket = ticketBefore(inner)
        return marked(try await base.entry(for: inner, request.asking(for: key)), ticket)
    }

    /// The level's entries of the transformed keys, asked for by one call.
    ///
    /// - Throws: What the transformer throws for any of the keys, unless failures are left out; what the level throws.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        let inner = try await step.each(keys, request)
        let asked = keys.indices.filter { inner[$0] != nil }
        let tickets = inner.map { $0.map { ticketBefore($0) } ?? .none }
        let names = asked.compactMap { inner[$0] }
        let found = try await base.entries(for: names, as: asked.map { keys[$0] }, request)
        var entries = [Entry<Value>?](repeating: nil, count: keys.count)
        for (position, index) in asked.enumerated() { entries[index] = marked(found[position], tickets[index]) }
        return entries
    }

    /// The value in the level's memory for the transformed key, if that needs no suspension.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        guard let inner = step.immediately(key) else { return nil }
        return base.resident(inner, at: now)
    }

    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        guard let inner = step.immediately(key) else { return nil }
        return base.resident(inner, at: now, &answers)
    }

    /// Stores the entry under the transformed key.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        try await base.store(entry, for: try await step(key))
    }

    /// Stores the entry under the transformed key.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        do {
            return try await base.commit(entry, for: try await step(key))
        } catch {
            if !step.isImmediate { base.gate?.void(fingerprint(of: key)) }
            throw error
        }
    }

    /// Removes the transformed key.
    public func remove(_ key: Key) async throws {
        try await base.remove(try await step(key))
    }

    public var label: LevelLabel {
        LevelLabel("keys transformed, \(Key.self) to \(Base.Key.self)", parts: [base.label])
    }

    // MARK: Coherence

    /// The fingerprint of the transformed key.
    ///
    /// A transformation that suspends cannot run here. The number is then one that the gate never voids by itself,
    /// every entry leaves with its right ticket, and writes that fail void the number.
    public func fingerprint(of key: Key) -> UInt64 {
        step.immediately(key).map { base.fingerprint(of: $0) } ?? UInt64(truncatingIfNeeded: key.hashValue)
    }

    private func ticketBefore(_ inner: Base.Key) -> Ticket {
        guard !step.isImmediate, let gate = base.gate else { return .none }
        return gate.ticket(for: base.fingerprint(of: inner))
    }

    private func marked(_ entry: Entry<Value>?, _ ticket: Ticket) -> Entry<Value>? {
        guard var entry, ticket != .none, entry.ticket == .none else { return entry }
        entry.ticket = ticket
        return entry
    }
}

extension TransformedKeys: Fetcher where Base: Fetcher {}

extension TransformedKeys: AtomicLevel where Base: AtomicLevel {
    /// The level's current entry of the transformed key.
    ///
    /// - Throws: What the transformer or the level throws.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? { try await base.current(step(key)) }

    /// Exchanges the entry of the transformed key.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        do {
            return try await base.exchange(entry, for: step(key), if: mark)
        } catch {
            if !step.isImmediate { base.gate?.void(fingerprint(of: key)) }
            throw error
        }
    }

    /// Changes the lifetime of the transformed key.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        try await base.changeLifetime(of: step(key), change)
    }

    /// Settles the write of the transformed key.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        try await base.settle(step(key), write)
    }
}

extension TransformedKeys: SourcedLevel where Base: SourcedLevel {}

extension CacheLevel {
    /// This level, asked by other keys.
    ///
    /// A hit in memory still does not suspend.
    ///
    /// - Parameter transform: From the new key to one of this level's. Run for every call, and more than once for some:
    ///   it should be quick, always give the same result, and have no side effects.
    /// - Returns: The level with its new keys.
    @inlinable
    public func transformKeys<Other: Hashable & Sendable>(
        _ transform: @escaping @Sendable (Other) throws -> Key
    ) -> TransformedKeys<Self, Other> {
        TransformedKeys(self, .immediate(transform))
    }

    /// This level, asked by other keys, whose transformation may suspend.
    ///
    /// Over a level that hears of changes made elsewhere, transform the key before you ask the cache: a read that is
    /// pooled above this level may join one that began before such a change.
    ///
    /// - Parameter transform: From the new key to one of this level's. It should always give the same result.
    /// - Returns: The level with its new keys.
    @inlinable
    public func transformKeys<Other: Hashable & Sendable>(
        _ transform: @escaping @Sendable (Other) async throws -> Key
    ) -> TransformedKeys<Self, Other> {
        TransformedKeys(self, .suspending(transform))
    }

    /// This level, asked by other keys; only the first direction of the transformer is used.
    @inlinable
    public func transformKeys<Other: Hashable & Sendable>(
        _ transformer: TwoWayTransformer<Other, Key>
    ) -> TransformedKeys<Self, Other> {
        TransformedKeys(self, transformer.forward)
    }

    /// This level, asked by other keys.
    @inlinable
    public func transformKeys<Other: Hashable & Sendable>(
        _ transformer: OneWayTransformer<Other, Key>
    ) -> TransformedKeys<Self, Other> {
        TransformedKeys(self, transformer.step)
    }
}

extension CacheLevel {
    /// The entries of several keys, whose steps and failures are noted under the names that the keys have above.
    ///
    /// - Parameters:
    ///   - names: The keys by the names that they have here.
    ///   - keys: The same keys in the same order, by their names above.
    ///   - request: The read.
    /// - Returns: The entries, in the same order.
    /// - Throws: What the level throws.
    func entries(
        for names: [Key],
        as keys: [some Hashable & Sendable],
        _ request: ReadRequest
    ) async throws -> [Entry<Value>?] {
        var request = request.renaming(keys, to: names, of: Value.self)
        guard let above = request.leftOut else { return try await entries(for: names, request) }
        let notes = FailureNotes()
        request.leftOut = notes
        let found = try await entries(for: names, request)
        above.add(notes, of: names, as: keys)
        return found
    }
}
