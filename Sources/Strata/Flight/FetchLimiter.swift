/// Lets a bounded number of fetches run at once; the others wait their turn in the order of their arrival, and may be
/// cancelled while they wait.
///
/// The limit is strict: a slot that becomes free is handed to the first who waits and is never free in between. O(1), but for
/// slots that were given up, which are stepped over once.
///
/// A fetch that is cancelled has a moment to end (``grace``). One that does not heed its cancellation loses its slot then, or a
/// few that hang would lock out all others for good. From then on more than the limit are under way: those that hang beside
/// those that count.
///
/// One limiter may be given to several levels, for example all that ask one database. Not to levels that ask each other:
/// with all slots taken by the outer ones, the inner ones would wait for ever.
///
/// ```swift
/// let database = FetchLimiter(limit: 16)
/// let users = memory.compose(userFetcher.capped(by: database))
/// let orders = orderFetcher.capped(by: database)
/// ```
public final class FetchLimiter: Sendable {
    private struct State {
        /// The numbers of those who have a slot.
        var held: Set<UInt64> = []
        /// Those among them who were cancelled, and when they lose it.
        var cancelled: [UInt64: MonotonicInstant] = [:]
        /// Numbers are given in the order of arrival, so the first who waits has the lowest.
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        var lastNumber: UInt64 = 0
        /// No number below this one waits.
        var first: UInt64 = 1

        /// Takes a slot back, and hands it to the first who waits.
        ///
        /// - Returns: Who has it now, to be resumed; `nil` for nobody, or when it was taken back before.
        mutating func takeBack(_ number: UInt64) -> CheckedContinuation<Void, any Error>? {
            cancelled[number] = nil
            guard held.remove(number) != nil else { return nil }
            while !waiting.isEmpty {
                defer { first += 1 }
                if let continuation = waiting.removeValue(forKey: first) {
                    held.insert(first)
                    return continuation
                }
            }
            return nil
        }
    }

    /// How many may run at once.
    public let limit: Int
    /// How long a fetch that was cancelled keeps its slot if it does not end.
    public let grace: Duration
    private let state = Locked(State())
    private let watch = Watch()

    /// A limiter with all its slots free.
    ///
    /// - Parameters:
    ///   - limit: How many may run at once; less than one counts as one.
    ///   - grace: How long a fetch that was cancelled keeps its slot if it does not end.
    public init(limit: Int, grace: Duration = .seconds(1)) {
        self.limit = max(1, limit)
        self.grace = max(.zero, grace)
    }

    /// How many have a slot now.
    public var running: Int { state.withLock { $0.held.count } }

    /// How many are waiting now.
    public var waiting: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` when there is room for it.
    ///
    /// - Parameter body: The work.
    /// - Throws: What `body` throws; `CancellationError` when the task is cancelled before its turn, and `body` does not run.
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
                    // Others may have drawn later numbers and been here sooner.
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
        guard state.held.count < limit else { return false }
        state.held.insert(number)
        return true
    }

    private func leave(_ number: UInt64) {
        let next = state.withLock { $0.takeBack(number) }
        next?.resume()
    }

    /// Whoever runs under a number is cancelled: it is to end soon.
    private func cancel(_ number: UInt64) {
        let end = MonotonicInstant.now.advanced(by: grace)
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
    /// Takes the slots of those back who were cancelled and have not ended.
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

/// A limiter equals itself alone.
extension FetchLimiter: Hashable {
    /// Whether both are the same limiter.
    public static func == (left: FetchLimiter, right: FetchLimiter) -> Bool { left === right }

    /// By identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
