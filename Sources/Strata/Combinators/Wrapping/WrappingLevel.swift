/// A level around another one with the same keys: what has nothing to do with values goes to the level inside.
///
/// One that keeps the values as they are is a ``ForwardingLevel``, and has less to say.
public protocol WrappingLevel<Base>: CacheLevel where Key == Base.Key {
    /// The kind of level inside.
    associatedtype Base: CacheLevel

    /// The level inside.
    var base: Base { get }
}

extension WrappingLevel {
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
extension WrappingLevel where Self: Fetcher {
    /// Told to the fetcher inside.
    public func remove(_ key: Key) async throws { try await base.remove(key) }

    /// Told to the fetcher inside.
    public func removeAll() async throws { try await base.removeAll() }
}
