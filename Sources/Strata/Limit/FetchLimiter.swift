/// Lets a bounded number of fetches run at once; the others wait their turn in the order of their arrival, and may be
/// cancelled while they wait.
///
/// The limit is strict: a slot that becomes free is handed to the first who waits and is never free in between. O(1), but for
/// slots that were given up, which are stepped over once.
///
/// One limiter may be given to several levels, for example all that ask one database. Not to levels that ask each other:
/// with all slots taken by the outer ones, the inner ones would wait for ever.
///
/// ```swift
/// let database = FetchLimiter(limit: 16)
/// let users = memory.compose(userFetcher.capped(by: database))
/// let orders = orderLevel.fetching(LeaseOptions(limiter: database)) { try await order($0) }
/// ```
public final class FetchLimiter: Sendable {
    private struct State {
        var running = 0
        /// Numbers are given in the order of arrival, so the first who waits has the lowest.
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        var lastNumber: UInt64 = 0
        /// No number below this one waits.
        var first: UInt64 = 1

        mutating func next() -> CheckedContinuation<Void, any Error>? {
            while !waiting.isEmpty {
                defer { first += 1 }
                if let continuation = waiting.removeValue(forKey: first) { return continuation }
            }
            return nil
        }
    }

    /// How many may run at once.
    public let limit: Int
    private let state = Locked(State())

    /// A limiter with all its slots free.
    ///
    /// - Parameter limit: How many may run at once; less than one counts as one.
    public init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// How many are running now.
    public var running: Int { state.withLock { $0.running } }

    /// How many are waiting now.
    public var waiting: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` when there is room for it.
    ///
    /// - Parameter body: The work.
    /// - Throws: What `body` throws; `CancellationError` when the task is cancelled before its turn, and `body` does not run.
    /// - Returns: What `body` returns.
    public func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await enter()
        defer { leave() }
        try Task.checkCancellation()
        return try await body()
    }

    private func enter() async throws {
        let place: UInt64? = state.withLock { state in
            guard state.running >= limit else {
                state.running += 1
                return nil
            }
            state.lastNumber += 1
            return state.lastNumber
        }
        guard let number = place else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let enters = state.withLock { state in
                    guard state.running >= limit else {
                        state.running += 1
                        return true
                    }
                    // Others may have drawn later numbers and been here sooner.
                    state.first = state.waiting.isEmpty ? number : min(state.first, number)
                    state.waiting[number] = continuation
                    return false
                }
                if enters { continuation.resume() } else if Task.isCancelled { giveUp(number) }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    private func leave() {
        let next = state.withLock { state in
            let next = state.next()
            if next == nil { state.running -= 1 }
            return next
        }
        next?.resume()
    }

    private func giveUp(_ number: UInt64) {
        let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
        continuation?.resume(throwing: CancellationError())
    }
}

/// A limiter equals itself alone.
extension FetchLimiter: Hashable {
    /// Whether both are the same limiter.
    public static func == (left: FetchLimiter, right: FetchLimiter) -> Bool { left === right }

    /// By identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
