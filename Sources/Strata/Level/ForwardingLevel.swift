/// A level around another one with the same keys and values: what a combinator is made of.
///
/// Writes and everything about coherence go to the level inside. A conforming type says what a read does, and whether the level
/// inside may answer without suspending: what it leaves out, nobody does.
///
/// ```swift
/// struct Logged<Base: CacheLevel>: ForwardingLevel {
///     let base: Base
///
///     func entry(for key: Base.Key, _ request: ReadRequest) async throws -> Entry<Base.Value>? {
///         let entry = try await base.entry(for: key, request)
///         logger.trace("read", metadata: ["hit": "\(entry != nil)"])
///         return entry
///     }
/// }
/// ```
public protocol ForwardingLevel<Base>: CacheLevel where Key == Base.Key, Value == Base.Value {
    /// The kind of level inside.
    associatedtype Base: CacheLevel

    /// The level inside.
    var base: Base { get }
}

extension ForwardingLevel {
    /// Told to the level inside.
    public func store(_ entry: Entry<Value>, for key: Key) async throws { try await base.store(entry, for: key) }

    /// Told to the level inside.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await base.commit(entry, for: key)
    }

    /// Told to the level inside.
    public func remove(_ key: Key) async throws { try await base.remove(key) }

    /// Told to the level inside.
    public func removeAll() async throws { try await base.removeAll() }

    /// Told to the level inside.
    public func invalidate(tags: [String]) async throws { try await base.invalidate(tags: tags) }

    /// Told to the level inside.
    public func relieve(_ pressure: MemoryPressure) { base.relieve(pressure) }

    /// The gate of the level inside.
    public var gate: FillGate? { base.gate }

    /// The fingerprint that the level inside gives.
    public func fingerprint(of key: Key) -> UInt64 { base.fingerprint(of: key) }

    /// What the level inside says.
    public var keepsTickets: Bool { base.keepsTickets }

    /// That of the level inside.
    public var origin: EntryOrigin? { base.origin }

    /// Told to the level inside.
    public func drain(within limit: Duration) async { await base.drain(within: limit) }

    /// The name of the type, with the level inside.
    public var label: LevelLabel { LevelLabel("\(Self.self)", parts: [base.label]) }
}

// What a fetcher inside does with writes is its own business, also where the wrapper is a fetcher itself.
extension ForwardingLevel where Self: Fetcher {
    /// Told to the fetcher inside.
    public func store(_ entry: Entry<Value>, for key: Key) async throws { try await base.store(entry, for: key) }

    /// Told to the fetcher inside.
    public func remove(_ key: Key) async throws { try await base.remove(key) }

    /// Told to the fetcher inside.
    public func removeAll() async throws { try await base.removeAll() }
}
