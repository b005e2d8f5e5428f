/// A level whose reads end with an error when they take too long.
///
/// A result in time passes at once. When the time is over the work is cancelled, and the caller gets its error even if
/// the level ignores the cancellation. Only reads have a limit: a write that went on after its reported failure could
/// overwrite a newer one.
///
/// ```swift
/// let products = memory.compose(fetcher.timeout(.milliseconds(250))).recover { id, _ in Product.placeholder(id) }
/// ```
///
/// A hit in the level's memory costs nothing more; any other read costs two tasks.
public struct TimeLimited<Base: CacheLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose reads are limited.
    public let base: Base
    /// How long a read may take.
    package let limit: Duration
    private let expiry: @Sendable () async throws -> Void
    private let timeouts = Tally()

    init(_ base: Base, limit: Duration, clock: (any Clock<Duration>)?) {
        self.base = base
        self.limit = limit
        let time = base.clock ?? .current
        expiry = {
            if let clock { return try await clock.pause(for: limit) }
            try await time.wait(until: time.now.advanced(by: limit))
        }
    }

    /// The level's entry, if it comes in time.
    ///
    /// - Throws: ``CacheError/Code/timeout``; what the level throws; `CancellationError`.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await limited { [base] in try await base.entry(for: key, request) }
    }

    /// The level's entries, if all come in time.
    ///
    /// - Throws: ``CacheError/Code/timeout``; what the level throws; `CancellationError`.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        try await limited { [base] in try await base.entries(for: keys, request) }
    }

    /// How many reads have taken too long since the start.
    package var timedOut: Int { timeouts.count }

    public var label: LevelLabel {
        LevelLabel("time limited, \(limit)", counters: [.init("timeouts", timedOut)], parts: [base.label])
    }

    private func limited<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) async throws -> Result
    {
        try await FirstOutcome.of([
            work,
            { [expiry, limit, timeouts] in
                try await expiry()
                timeouts.add()
                throw CacheError(code: .timeout, message: "a level did not answer within \(limit)")
            },
        ])
    }
}

extension TimeLimited: Fetcher where Base: Fetcher {}

extension TimeLimited: AtomicLevel where Base: AtomicLevel {}

extension TimeLimited: SourcedLevel where Base: SourcedLevel {}

extension TimeLimited: ConfirmationRelay {}

extension CacheLevel {
    /// This level with a limit on how long a read may take.
    ///
    /// - Parameters:
    ///   - limit: How long a read may take.
    ///   - clock: What measures it; by default the cache's clock.
    /// - Returns: The level with its limit.
    public func timeout(
        _ limit: Duration,
        clock: (any Clock<Duration>)? = nil
    ) -> TimeLimited<Self> {
        TimeLimited(self, limit: limit, clock: clock)
    }
}
