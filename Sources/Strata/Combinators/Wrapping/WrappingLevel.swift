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
    public func remove(_ key: Key) async throws { try await base.remove(key) }

    public func removeAll() async throws { try await base.removeAll() }

    public func invalidate(tags: [String]) async throws { try await base.invalidate(tags: tags) }

    public func relieve(_ pressure: MemoryPressure) { base.relieve(pressure) }

    public var gate: FillGate? { base.gate }

    public func fingerprint(of key: Key) -> UInt64 { base.fingerprint(of: key) }

    public var keepsTickets: Bool { base.keepsTickets }

    public var origin: EntryOrigin? { base.origin }

    public func drain(within limit: Duration) async { await base.drain(within: limit) }

    /// The name of the type, with the level inside.
    public var label: LevelLabel { LevelLabel("\(Self.self)", parts: [base.label]) }
}

// A fetcher inside decides itself what it does with writes, also where the wrapper is a fetcher.
extension WrappingLevel where Self: Fetcher {
    public func remove(_ key: Key) async throws { try await base.remove(key) }

    public func removeAll() async throws { try await base.removeAll() }
}
