/// A level whose reads are tried again when they fail.
///
/// A miss is not a failure, and a cancellation is never tried again. Only reads are: repeating a write could overwrite
/// one that came in between.
///
/// ```swift
/// let fetcher = ClosureFetcher<Int, Product> { try await database.product($0) }
///     .retry(RetryPolicy(times: 3)) { error in error is ConnectionLost }
/// ```
public struct Retried<Base: CacheLevel>: TransparentLevel {
    /// What entries are found by.
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose reads are tried again.
    public let base: Base
    /// How often, and after which pauses.
    package let policy: RetryPolicy
    private let clock: any Clock<Duration>
    private let isWorthIt: @Sendable (any Error) -> Bool
    private let retries = Tally()

    init(
        _ base: Base,
        _ policy: RetryPolicy,
        _ clock: any Clock<Duration>,
        _ isWorthIt: @escaping @Sendable (any Error) -> Bool
    ) {
        self.base = base
        self.policy = policy
        self.clock = clock
        self.isWorthIt = isWorthIt
    }

    /// The level's entry, from the first attempt that does not fail.
    ///
    /// - Throws: What the last attempt has thrown; `CancellationError`, also during a pause.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await retrying { retry in try await base.entry(for: key, retry == 0 ? request : request.anew) }
    }

    /// The level's entries, from the first attempt that does not fail.
    ///
    /// - Throws: What the last attempt has thrown; `CancellationError`, also during a pause.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        // A failure that is left out cannot be tried again, so that waits for the last attempt.
        let strict = request.strict
        return try await retrying { retry in
            try await base.entries(for: keys, retry >= policy.times ? request : strict)
        }
    }

    /// How many retries there were since the start.
    package var retried: Int { retries.count }

    /// `retried`, with the policy and the level inside.
    public var label: LevelLabel {
        LevelLabel(
            "retried, up to \(max(0, policy.times)) times after \(policy.delay)",
            counters: [.init("retries", retried)],
            parts: [base.label]
        )
    }

    private func retrying<Result>(_ work: (_ retry: Int) async throws -> Result) async throws -> Result {
        var retry = 0
        while true {
            do {
                return try await work(retry)
            } catch {
                guard retry < policy.times, !(error is CancellationError), isWorthIt(error) else { throw error }
                try Task.checkCancellation()
            }
            try await clock.pause(for: policy.pause(before: retry, share: .random(in: 0...1)))
            retry += 1
            retries.add()
        }
    }
}

extension Retried: Fetcher where Base: Fetcher {}

extension CacheLevel {
    /// This level with its reads tried again when they fail.
    ///
    /// - Parameters:
    ///   - policy: How often, and after which pauses.
    ///   - clock: What measures the pauses.
    ///   - isWorthIt: Whether an error may go away by itself. Never asked about a cancellation.
    /// - Returns: The level with its retries.
    public func retry(
        _ policy: RetryPolicy = RetryPolicy(),
        clock: any Clock<Duration> = ContinuousClock(),
        if isWorthIt: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> Retried<Self> {
        Retried(self, policy, clock, isWorthIt)
    }
}
