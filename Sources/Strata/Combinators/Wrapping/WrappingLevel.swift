/// A level around another one: what has nothing to do with keys and values goes to the level inside.
///
/// A level that keeps the keys has less to implement, and one that keeps keys and values is a ``ForwardingLevel``. It
/// holds no values itself: where it stands around a source, reads that must not ask one
/// (``ReadOptions/SourceUse/never``) pass over it.
public protocol WrappingLevel<Base>: CacheLevel {
    /// The kind of level inside.
    associatedtype Base: CacheLevel

    /// The level inside.
    var base: Base { get }
}

extension WrappingLevel {
    public func removeAll() async throws { try await base.removeAll() }

    public func invalidate(tags: [String]) async throws { try await base.invalidate(tags: tags) }

    public func relieve(_ pressure: MemoryPressure) { base.relieve(pressure) }

    public var gate: FillGate? { base.gate }

    public var keepsTickets: Bool { base.keepsTickets }

    /// Whether a set goes to a source of truth in the level inside.
    public var writesSource: Bool { base.writesSource }

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

    public var origin: EntryOrigin? { base.origin }

    public func drain(within limit: Duration) async { await base.drain(within: limit) }

    public var label: LevelLabel { LevelLabel("\(Self.self)", parts: [base.label]) }
}

extension WrappingLevel where Key == Base.Key {
    public func remove(_ key: Key) async throws { try await base.remove(key) }

    public func fingerprint(of key: Key) -> UInt64 { base.fingerprint(of: key) }
}

// A fetcher inside decides what it does with writes, also where the wrapper is a fetcher itself.
extension WrappingLevel where Self: Fetcher {
    public func removeAll() async throws { try await base.removeAll() }
}

extension WrappingLevel where Self: Fetcher, Key == Base.Key {
    public func remove(_ key: Key) async throws { try await base.remove(key) }
}
