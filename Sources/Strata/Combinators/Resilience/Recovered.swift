/// A level whose failed reads are answered by a closure.
///
/// A miss is not a failure, and a cancellation is not recovered. The closure's value goes to the caller, but no level
/// above keeps it: the next read tries again. Writes go to the level alone, and their failures are not recovered.
///
/// ```swift
/// let products = cache.recover { id, error in
///     logger.warning("serving a placeholder", metadata: ["error": "\(error)"])
///     return Product.placeholder(id)
/// }
/// ```
public struct Recovered<Base: CacheLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose failures are recovered.
    public let base: Base
    private let fallback: @Sendable (Base.Key, any Error) async throws -> Base.Value?
    private let recoveries = Tally()

    init(_ base: Base, _ fallback: @escaping @Sendable (Base.Key, any Error) async throws -> Base.Value?) {
        self.base = base
        self.fallback = fallback
    }

    /// The level's entry, or what the closure makes of its failure.
    ///
    /// - Throws: What the closure throws; `CancellationError`.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        // A read that only waits, or asks for a right, gets no answer here.
        if request.awaited != nil || request.rights != nil { return try await base.entry(for: key, request) }
        do {
            return try await base.entry(for: key, request)
        } catch {
            return try await recover(key, from: error)
        }
    }

    /// The level's entries, asked for by one call; for keys that have failed, what the closure makes of the failure.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        if request.rights != nil { return try await base.entries(for: keys, request) }
        let outcomes: [KeyOutcome<Value>]
        do {
            outcomes = try await base.outcomes(for: keys, request)
        } catch {
            outcomes = Array(repeating: .failure(error), count: keys.count)
        }
        return try await Array(zip(keys, outcomes))
            .concurrently { key, outcome -> Entry<Value>? in
                try await request.leavingOut(key) {
                    // Where it is not known which keys have failed, those that are missing are asked for by themselves.
                    guard let outcome else { return try await entry(for: key, request) }
                    do { return try outcome.get() } catch { return try await recover(key, from: error) }
                }
            }
    }

    /// How many reads the closure has answered since the start, or tried to.
    package var recovered: Int { recoveries.count }

    public var label: LevelLabel {
        LevelLabel("recovered, by a closure", counters: [.init("recoveries", recovered)], parts: [base.label])
    }

    private func recover(_ key: Key, from error: any Error) async throws -> Entry<Value>? {
        guard !(error is CancellationError) else { throw error }
        try Task.checkCancellation()
        recoveries.add()
        return try await fallback(key, error)
            .map { value in
                let now = (base.clock ?? .current).now
                return Entry(.value(value), storedAt: now, origin: "fallback", ticket: .void)
            }
    }
}

extension Recovered: Fetcher where Base: Fetcher {}

extension Recovered: AtomicLevel where Base: AtomicLevel {}

extension Recovered: SourcedLevel where Base: SourcedLevel {}

extension Recovered: ConfirmationRelay {}

extension CacheLevel {
    /// This level with a closure that answers when a read has failed.
    ///
    /// - Parameter fallback: Gets the key and what was thrown; returns a value, or `nil` for a miss, or throws what the
    ///   caller is to see.
    /// - Returns: The level with its fallback.
    public func recover(
        _ fallback: @escaping @Sendable (Key, any Error) async throws -> Value?
    ) -> Recovered<Self> {
        Recovered(self, fallback)
    }
}
