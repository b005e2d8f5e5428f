/// A level with a limit on concurrent reads; further reads wait in the order of their arrival.
///
/// The limit is strict. A waiting read leaves when its caller is cancelled, without ever running; a running one that
/// ignores its cancellation loses its slot (``FetchLimiter/grace``). A batch takes one slot, however many keys it has.
/// Writes are not limited. A value in this process's memory is returned at once and takes no slot.
///
/// ```swift
/// let pages = memory.compose(ClosureFetcher<URL, Page> { url in try await render(url) }.capped(4))
/// ```
public struct Capped<Base: CacheLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose reads are limited.
    public let base: Base
    private let limiter: FetchLimiter

    init(_ base: Base, _ limiter: FetchLimiter) {
        self.base = base
        self.limiter = limiter
    }

    /// How many may run at once.
    package var limit: Int { limiter.limit }

    /// The level's entry, once there is a slot.
    ///
    /// - Throws: What the level throws; `CancellationError`, also while waiting.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await limiter.run { try await base.entry(for: key, request) }
    }

    /// The level's entries, once there is a slot for all of them together.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        try await limiter.run { try await base.entries(for: keys, request) }
    }

    /// How many reads are running now, in all levels that share the limit.
    package var running: Int { limiter.running }

    /// How many reads wait for a slot now, in all levels that share the limit.
    package var waiting: Int { limiter.waiting }

    public var label: LevelLabel {
        LevelLabel(
            "capped, at most \(limit) at once",
            counters: [.init("running", running), .init("waiting", waiting)],
            parts: [base.label]
        )
    }
}

extension Capped: Fetcher where Base: Fetcher {}

extension Capped: AtomicLevel where Base: AtomicLevel {}

extension Capped: SourcedLevel where Base: SourcedLevel {}

extension Capped: ConfirmationRelay {}

extension CacheLevel {
    /// This level with a limit on how many of its reads run at once.
    ///
    /// - Parameter limit: How many may run at once; at least one.
    /// - Returns: The level with its limit.
    public func capped(_ limit: Int) -> Capped<Self> {
        Capped(self, FetchLimiter(limit: limit, clock: clock ?? .current))
    }

    /// This level with a limit that it shares with others on how many of their reads run at once, together.
    ///
    /// - Parameter limiter: The limit; see there which levels may share one.
    /// - Returns: The level with its limit.
    public func capped(by limiter: FetchLimiter) -> Capped<Self> { Capped(self, limiter) }
}
