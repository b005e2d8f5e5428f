/// A level around another one with the same keys: calls without values go to the level inside.
///
/// A level that keeps the values as they are is a ``ForwardingLevel``, which implements less.
public protocol WrappingLevel<Base>: CacheLevel where Key == Base.Key {
    /// The kind of level inside.
    associatedtype Base: CacheLevel

    /// The level inside.
    var base: Base { get }
}

extension WrappingLevel {
    /// Forwards to the level inside.
    public func remove(_ key: Key) async throws { try await base.remove(key) }

    /// Forwards to the level inside.
    public func removeAll() async throws { try await base.removeAll() }

    /// Forwards to the level inside.
    public func invalidate(tags: [String]) async throws { try await base.invalidate(tags: tags) }

    /// Forwards to the level inside.
    public func relieve(_ pressure: MemoryPressure) { base.relieve(pressure) }

    /// The gate of the level inside.
    public var gate: FillGate? { base.gate }

    /// The fingerprint of the level inside.
    public func fingerprint(of key: Key) -> UInt64 { base.fingerprint(of: key) }

    /// The value of the level inside.
    public var keepsTickets: Bool { base.keepsTickets }

    /// The value of the level inside.
    public var origin: EntryOrigin? { base.origin }

    /// Forwards to the level inside.
    public func drain(within limit: Duration) async { await base.drain(within: limit) }

    /// The name of the type, with the level inside.
    public var label: LevelLabel { LevelLabel("\(Self.self)", parts: [base.label]) }
}

// A fetcher inside decides itself what it does with writes, also where the wrapper is a fetcher.
extension WrappingLevel where Self: Fetcher {
    /// Forwards to the fetcher inside.
    public func remove(_ key: Key) async throws { try await base.remove(key) }

    /// Forwards to the fetcher inside.
    public func removeAll() async throws { try await base.removeAll() }
}
