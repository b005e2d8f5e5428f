/// A level around another one with the same keys and values: what a combinator is made of.
///
/// Writes and everything about coherence go to the level inside. A conforming type says what a read does, and whether
/// the level inside may answer without suspending: by default it may not.
///
/// ```swift
/// struct Logged<Base: CacheLevel>: ForwardingLevel {
///     let base: Base
///     let logger: Logger
///
///     func entry(for key: Base.Key, _ request: ReadRequest) async throws -> Entry<Base.Value>? {
///         let entry = try await base.entry(for: key, request)
///         logger.trace("read", metadata: ["hit": "\(entry != nil)"])
///         return entry
///     }
/// }
/// ```
public protocol ForwardingLevel<Base>: WrappingLevel where Key == Base.Key, Value == Base.Value {}

extension ForwardingLevel {
    public func store(_ entry: Entry<Value>, for key: Key) async throws { try await base.store(entry, for: key) }

    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await base.commit(entry, for: key)
    }
}

// A fetcher inside decides what it does with writes, also where the wrapper is a fetcher itself.
extension ForwardingLevel where Self: Fetcher {
    public func store(_ entry: Entry<Value>, for key: Key) async throws { try await base.store(entry, for: key) }
}

// For levels that leave reads and writes as they are: declare `AtomicLevel` where the level inside is one.
extension AtomicLevel where Self: ForwardingLevel, Base: AtomicLevel {
    /// Reads the current entry from the level inside.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? { try await base.current(key) }

    /// Exchanges the entry at the level inside.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        try await base.exchange(entry, for: key, if: mark)
    }

    /// Changes the lifetime at the level inside.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        try await base.changeLifetime(of: key, change)
    }

    /// Settles the write at the level inside.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        try await base.settle(key, write)
    }
}

extension ConfirmationRelay where Self: ForwardingLevel {
    /// The level inside, which has the same keys and values.
    package var confirming: (any ConfirmingLevel<Key, Value>)? { base as? any ConfirmingLevel<Key, Value> }
}
