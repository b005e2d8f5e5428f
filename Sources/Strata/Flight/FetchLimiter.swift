/// Lets a bounded number of fetches run at once; the others wait in the order of their arrival and may be cancelled.
///
/// The limit is strict: a free slot goes directly to the first fetch that waits. Every operation is O(1), apart from
/// waiting fetches that were cancelled, which are skipped once each.
///
/// A cancelled fetch has a moment to end (``grace``). Then it loses its slot even if it still runs, because a few
/// fetches that hang would otherwise lock out all others for good. From then on more fetches than the limit run: those
/// that hang, and those that count.
///
/// Several levels may share a limiter, for example all that ask one database. Levels that ask each other must not: when
/// the outer ones have all slots, the inner ones wait for ever.
///
/// ```swift
/// let slots = FetchLimiter(limit: 16)
/// let users = memory.compose(userFetcher.capped(by: slots))
/// let orders = orderFetcher.capped(by: slots)
/// ```
public final class FetchLimiter: Sendable {
    private struct State {
        /// How many fetches may run at once.
        var limit: Int
        /// The numbers of the fetches that have a slot.
        var held: Set<UInt64> = []
        /// The cancelled ones among them, and when each loses its slot.
        var cancelled: [UInt64: MonotonicInstant] = [:]
        /// Numbers rise with the arrival, so the first that waits has the lowest.
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        var lastNumber: UInt64 = 0
        /// No number below this one waits.
        var first: UInt64 = 1

        /// Takes a slot back and hands it to the first that waits.
        ///
        /// - Returns: The continuation to resume; `nil` when none waits, or the slot was taken back before.
        mutating func takeBack(_ number: UInt64) -> CheckedContinuation<Void, any Error>? {
            cancelled[number] = nil
            guard held.remove(number) != nil else { return nil }
            return admit()
        }

        /// Gives a free slot to the first that waits.
        ///
        /// - Returns: The continuation to resume; `nil` when none waits, or no slot is free.
        mutating func admit() -> CheckedContinuation<Void, any Error>? {
            while held.count < limit, !waiting.isEmpty {
                defer { first += 1 }
                if let continuation = waiting.removeValue(forKey: first) {
                    held.insert(first)
                    return continuation
                }
            }
            return nil
        }
    }

    /// How many fetches may run at once; less than one counts as one.
    ///
    /// It may be changed at any time. A larger limit lets fetches that wait begin at once; a smaller one lets those
    /// that run end, and none begin until there are fewer.
    ///
    /// Complexity: O(fetches that begin).
    public var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            let next = state.withLock { state in
                state.limit = max(1, newValue)
                var next: [CheckedContinuation<Void, any Error>] = []
                while let continuation = state.admit() { next.append(continuation) }
                return next
            }
            for continuation in next { continuation.resume() }
        }
    }
    /// How long a cancelled fetch that does not end keeps its slot.
    public let grace: Duration
    private let state: Locked<State>
    private let watch: Watch
    private let clock: CacheClock

    /// A limiter with all its slots free.
    ///
    /// - Parameters:
    ///   - limit: How many fetches may run at once; less than one counts as one.
    ///   - grace: How long a cancelled fetch that does not end keeps its slot; one second by default.
    public convenience init(limit: Int, grace: Duration = .seconds(1)) {
        self.init(limit: limit, grace: grace, clock: .current)
    }

    package init(limit: Int, grace: Duration = .seconds(1), clock: CacheClock) {
        state = Locked(State(limit: max(1, limit)))
        self.grace = max(.zero, grace)
        self.clock = clock
        watch = Watch(clock)
    }

    /// How many fetches have a slot now.
    public var running: Int { state.withLock { $0.held.count } }

    /// How many fetches wait for one now.
    public var waiting: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` when there is room for it.
    ///
    /// - Parameter body: The work.
    /// - Throws: What `body` throws; `CancellationError` when the task is cancelled before its turn, and `body` does
    ///   not run.
    /// - Returns: What `body` returns.
    public func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        let number = try await enter()
        return try await withTaskCancellationHandler {
            defer { leave(number) }
            try Task.checkCancellation()
            return try await body()
        } onCancel: {
            cancel(number)
        }
    }

    /// - Returns: The number under which a slot is held.
    private func enter() async throws -> UInt64 {
        let (number, hasEntered) = state.withLock { state in
            state.lastNumber += 1
            return (state.lastNumber, enter(state.lastNumber, &state))
        }
        guard !hasEntered else { return number }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let hasEntered = state.withLock { state in
                    guard !enter(number, &state) else { return true }
                    // Fetches with later numbers may have arrived here sooner.
                    state.first = state.waiting.isEmpty ? number : min(state.first, number)
                    state.waiting[number] = continuation
                    return false
                }
                if hasEntered { continuation.resume() } else if Task.isCancelled { giveUp(number) }
            }
        } onCancel: {
            giveUp(number)
        }
        return number
    }

    private func enter(_ number: UInt64, _ state: inout State) -> Bool {
        guard state.held.count < state.limit else { return false }
        state.held.insert(number)
        return true
    }

    private func leave(_ number: UInt64) {
        let next = state.withLock { $0.takeBack(number) }
        next?.resume()
    }

    /// The fetch with this number is cancelled and should end soon.
    private func cancel(_ number: UInt64) {
        let end = clock.now.advanced(by: grace)
        let isHeld = state.withLock { state in
            guard state.held.contains(number) else { return false }
            state.cancelled[number] = end
            return true
        }
        if isHeld { watch.schedule(self, by: end) }
    }

    private func giveUp(_ number: UInt64) {
        let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
        continuation?.resume(throwing: CancellationError())
    }
}

extension FetchLimiter: Watched {
    /// Takes back the slots of cancelled fetches whose grace is over.
    ///
    /// O(cancelled).
    package func fire(at now: MonotonicInstant) -> MonotonicInstant {
        let (resumed, next) = state.withLock { state in
            let late = state.cancelled.filter { $0.value <= now }.keys
            return (late.compactMap { state.takeBack($0) }, state.cancelled.values.min() ?? .distantFuture)
        }
        for continuation in resumed { continuation.resume() }
        return next
    }
}

/// A limiter equals only itself.
extension FetchLimiter: Hashable {
    /// Whether both are the same limiter.
    public static func == (left: FetchLimiter, right: FetchLimiter) -> Bool { left === right }

    /// By identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
