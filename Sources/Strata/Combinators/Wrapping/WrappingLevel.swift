/// A level around another one: what has nothing to do with keys and values goes to the level inside.
///
/// One that keeps the keys has less to say, and one that keeps keys and values is a ``ForwardingLevel``. It holds no values itself:
/// around a source it is passed over by reads that ask none (``ReadOptions/Source/never``).
public protocol WrappingLevel<Base>: CacheLevel {
    /// The kind of level inside.
    associatedtype Base: CacheLevel

    /// The level inside.
    var base: Base { get }
}

extension WrappingLevel {
    /// Told to the level inside.
    public func removeAll() async throws { try await base.removeAll() }

    public func invalidate(tags: [String]) async throws { try await base.invalidate(tags: tags) }

    public func relieve(_ pressure: MemoryPressure) { base.relieve(pressure) }

    public var gate: FillGate? { base.gate }

    /// What the level inside says.
    public var keepsTickets: Bool { base.keepsTickets }

    /// What the level inside says.
    public var writesSource: Bool { base.writesSource }

    /// What the level inside says.
    public var lacksSource: Bool { base.lacksSource }

    /// What the level inside says.
    public var isStorage: Bool { base.isStorage }

    /// What the level inside says.
    public func stored(tags: [String]) -> [String] { base.stored(tags: tags) }

    /// What the level inside says.
    public var commonTags: [String] { base.commonTags }

    /// What the level inside says.
    public var policy: FreshnessPolicy? { base.policy }

    /// What the level inside says.
    public var clock: CacheClock? { base.clock }

    public var origin: EntryOrigin? { base.origin }

    public func drain(within limit: Duration) async { await base.drain(within: limit) }

    /// The name of the type, with the level inside.
    public var label: LevelLabel { LevelLabel("\(Self.self)", parts: [base.label]) }
}

extension WrappingLevel where Key == Base.Key {
    /// Told to the level inside.
    public func remove(_ key: Key) async throws { try await base.remove(key) }

    /// The fingerprint that the level inside gives.
    public func fingerprint(of key: Key) -> UInt64 { base.fingerprint(of: key) }
}

// What a fetcher inside does with writes is its own business, also where the wrapper is a fetcher itself.
extension WrappingLevel where Self: Fetcher {
    /// Told to the fetcher inside.
    public func removeAll() async throws { try await base.removeAll() }
}

extension WrappingLevel where Self: Fetcher, Key == Base.Key {
    /// Told to the fetcher inside.
    public func remove(_ key: Key) async throws { try await base.remove(key) }
}
