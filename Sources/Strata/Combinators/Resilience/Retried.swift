/// A level whose reads are tried again when they fail.
///
/// A miss is not a failure, and a cancellation is never tried again. Only reads are: repeating a write could overwrite
/// one that came in between.
///
/// ```swift
/// let fetcher = ClosureFetcher<Int, Product> { id in try await database.product(id) }
///     .retry(RetryPolicy(times: 3)) { error in error is ConnectionLost }
/// ```
public struct Retried<Base: CacheLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose reads are tried again.
    public let base: Base
    /// How often, and after which pauses.
    package let policy: RetryPolicy
    private let rest: @Sendable (Duration) async throws -> Void
    private let isWorthIt: @Sendable (any Error) -> Bool
    private let retries = Tally()

    init(
        _ base: Base,
        _ policy: RetryPolicy,
        _ clock: (any Clock<Duration>)?,
        _ isWorthIt: @escaping @Sendable (any Error) -> Bool
    ) {
        self.base = base
        self.policy = policy
        let time = base.clock ?? .current
        rest = { if let clock { try await clock.pause(for: $0) } else { try await time.pause(for: $0) } }
        self.isWorthIt = isWorthIt
    }

    /// The level's entry, from the first attempt that does not fail.
    ///
    /// - Throws: What the last attempt has thrown; `CancellationError`, also during a pause.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        // A read that only waits is not tried again.
        if request.awaited != nil { return try await base.entry(for: key, request) }
        return try await retrying { retry in try await base.entry(for: key, retry == 0 ? request : request.anew) }
    }

    /// The level's entries, each from the first attempt that does not fail; only keys that have failed are tried again.
    ///
    /// - Throws: What the last attempt has thrown, unless failures are left out; `CancellationError`, also during a
    ///   pause.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        var open = Array(keys.indices)
        var found = [Entry<Value>?](repeating: nil, count: keys.count)
        var failed: [Int: any Error] = [:]
        var isAttributed = true
        do {
            try await retrying { retry in
                let notes = FailureNotes()
                let attempt = (retry == 0 ? request : request.anew).going(on: notes)
                // A call that fails as a whole says nothing about its keys.
                isAttributed = false
                let entries = try await base.entries(of: keys, at: open, attempt)
                isAttributed = true
                for index in open {
                    found[index] = entries[index]
                    failed[index] = nil
                }
                let all = notes.all
                guard let first = all.first else { return }
                // Where it is not known which keys have failed, all that are missing are tried again.
                let known = notes.errors(of: keys)
                isAttributed = known != nil
                guard let errors = known else {
                    open = open.filter { entries[$0] == nil }
                    throw all.first { isFinal($0) } ?? first
                }
                for index in open { failed[index] = errors[index] }
                if !request.leavesOutFailures, let error = all.first(where: isFinal) { throw error }
                open = open.filter { failed[$0].map { !isFinal($0) } ?? false }
                guard let next = open.first.flatMap({ failed[$0] }) else { return }
                throw next
            }
        } catch {
            if !request.leavesOutFailures || Task.isCancelled { throw error }
            if !isAttributed { request.leftOut?.add(error) }
        }
        for (index, error) in failed { request.leftOut?.add(error, of: keys[index]) }
        return found
    }

    private func isFinal(_ error: any Error) -> Bool { error is CancellationError || !isWorthIt(error) }

    /// How many retries there were since the start.
    package var retried: Int { retries.count }

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
            try await rest(policy.pause(before: retry, share: .random(in: 0...1)))
            retry += 1
            retries.add()
        }
    }
}

extension Retried: Fetcher where Base: Fetcher {}

extension Retried: AtomicLevel where Base: AtomicLevel {}

extension Retried: SourcedLevel where Base: SourcedLevel {}

extension Retried: ConfirmationRelay {}

extension CacheLevel {
    /// This level with its reads tried again when they fail.
    ///
    /// - Parameters:
    ///   - policy: How often, and after which pauses.
    ///   - clock: What measures the pauses; by default the cache's clock.
    ///   - isWorthIt: Whether an error may go away by itself. Never asked about a cancellation.
    /// - Returns: The level with its retries.
    public func retry(
        _ policy: RetryPolicy = RetryPolicy(),
        clock: (any Clock<Duration>)? = nil,
        if isWorthIt: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> Retried<Self> {
        Retried(self, policy, clock, isWorthIt)
    }
}
