internal import Synchronization

/// The work under way in this process, one flight a key: whoever asks for a key that is on its way joins.
///
/// - Joining is atomic: of any number of tasks that ask at the same instant, one starts the work.
/// - The work runs in a task of its own. A caller that is cancelled leaves alone; the last one to leave cancels the work.
/// - A flight that is *anchored* goes on without callers, up to ``completionLimit``: a caller with limited patience anchors
///   the flight it gives up on, and ``launch(_:fingerprint:_:)`` starts one that nobody waits for. Their number is bounded.
/// - ``void(_:)`` takes a key off: those who wait still get what they asked for, later callers start anew.
/// - While nobody tells of changes, later callers start anew when the flight is older than what may be kept.
/// - When the flight has landed it is forgotten, whatever came of it. This is not a cache.
package final class Flights<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    struct Flight {
        let key: Key
        /// Taken before the work begins: who asks after it is void must not join.
        let ticket: Ticket
        /// Which tags the flight will bring is not known yet, so any that is invalidated ends it for later callers.
        let tagChanges: UInt64?
        let startedAt: MonotonicInstant
        var waiters: [UInt64: Waiter] = [:]
        var task: Task<Void, Never>?
        /// Whether the flight goes on when nobody waits any more.
        var isAnchored = false
        /// When an anchored flight has had its time.
        var end = MonotonicInstant.distantFuture
        /// No later than the flight's end and the first caller's.
        var due = MonotonicInstant.distantFuture
    }

    struct Waiter {
        let continuation: CheckedContinuation<Output, any Error>
        /// When the caller has waited long enough.
        let end: MonotonicInstant
    }

    /// The one who looks after what is due.
    struct Watch {
        /// When it looks next.
        var at = MonotonicInstant.distantFuture
        /// Tells it from those whose place it has taken.
        var number: UInt64 = 0
        var task: Task<Void, Never>?
    }

    struct State {
        var flights: [UInt64: Flight] = [:]
        /// The flight that callers of a key may join.
        var current: [Key: UInt64] = [:]
        /// The flight on which a caller waits.
        var boarded: [UInt64: UInt64] = [:]
        var lastFlight: UInt64 = 0
        var voids: UInt64 = 0
        var anchored = 0
        var watch = Watch()
        /// Those who wait for all flights to land.
        var drainers: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var lastDrainer: UInt64 = 0
        /// Those whose time was over before they had begun to wait.
        var lateDrainers: Set<UInt64> = []
    }

    /// Whether a caller has started the work or joined it.
    package enum Role: Sendable {
        case started
        case joined
    }

    let state = Locked(State())
    private let lastWaiter = Atomic<UInt64>(0)
    private let gate: FillGate?
    let anchorLimit: Int
    let completionLimit: Duration
    private let unclaimed: (@Sendable (Output) -> Void)?

    /// - Parameters:
    ///   - gate: Ends flights for later callers when their key changes; ``void(_:)`` alone does so without one.
    ///   - anchorLimit: How many flights may go on without anybody waiting.
    ///   - completionLimit: How long each of those may; then it is cancelled.
    ///   - unclaimed: Gets what work has returned for which nobody waits any more.
    package init(
        gate: FillGate? = nil,
        anchorLimit: Int = 256,
        completionLimit: Duration = .seconds(30),
        unclaimed: (@Sendable (Output) -> Void)? = nil
    ) {
        self.gate = gate
        self.unclaimed = unclaimed
        self.anchorLimit = anchorLimit
        self.completionLimit = completionLimit
    }

    /// Flights that are under way.
    package var count: Int { state.withLock { $0.flights.count } }

    /// Flights that go on whether anybody waits or not.
    package var anchored: Int { state.withLock { $0.anchored } }

    /// Callers that wait for a flight now.
    package var waiting: Int { state.withLock { $0.boarded.count } }

    /// How often keys were voided since the start.
    var voids: UInt64 { state.withLock { $0.voids } }

    /// Whether a caller of this key would join a flight now.
    package func isUnderWay(_ key: Key) -> Bool {
        state.withLock { joinable(key, $0) != nil }
    }

    /// Waits for the work on a key, and starts it unless it is under way.
    ///
    /// - Parameters:
    ///   - key: What is asked for.
    ///   - fingerprint: The number by which the gate knows the key.
    ///   - patience: How long the caller waits; for ever by default.
    ///   - joined: Called before waiting when the work is under way already, and `work` will not run.
    ///   - work: Runs once for all who join. It is cancelled when the last of them has left.
    /// - Returns: What the work returned, and whether this call has started it.
    /// - Throws: What the work has thrown, to all who joined; `CancellationError` to a caller that is cancelled;
    ///   ``OutOfPatience`` to one that has waited long enough.
    package func join(
        _ key: Key,
        fingerprint: UInt64 = 0,
        patience: Patience = .unlimited,
        joined: () -> Void = {},
        _ work: @escaping @Sendable () async throws -> Output
    ) async throws -> (output: Output, role: Role) {
        try Task.checkCancellation()
        let waiter = lastWaiter.wrappingAdd(1, ordering: .relaxed).newValue
        var role = Role.joined
        let output = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let boarded = board(waiter, key, fingerprint, patience, continuation)
                if boarded.starts {
                    role = .started
                    start(boarded.flight, work)
                } else {
                    joined()
                }
                if let watch = boarded.watch { self.watch(watch) }
                // A cancellation before boarding found nobody to let go.
                if Task.isCancelled { leave(waiter, throwing: CancellationError()) }
            }
        } onCancel: {
            leave(waiter, throwing: CancellationError())
        }
        return (output, role)
    }

    /// Starts the work on a key for nobody in particular, unless it is under way or there is no room for more.
    ///
    /// - Returns: Whether it was started.
    @discardableResult
    package func launch(
        _ key: Key,
        fingerprint: UInt64 = 0,
        _ work: @escaping @Sendable () async throws -> Output
    ) -> Bool {
        let started = state.withLock { state -> (flight: UInt64, watch: UInt64?)? in
            guard joinable(key, state) == nil, state.anchored < anchorLimit else { return nil }
            let number = newFlight(key, fingerprint, &state)
            return (number, state.anchor(number, until: MonotonicInstant.now.advanced(by: completionLimit)))
        }
        guard let started else { return false }
        start(started.flight, work)
        if let watch = started.watch { self.watch(watch) }
        return true
    }

    /// Lets later callers of a key start anew.
    ///
    /// O(1).
    package func void(_ key: Key) {
        state.withLock { state in
            state.voids += 1
            state.current[key] = nil
        }
    }

    /// Lets all later callers start anew.
    package func voidAll() {
        state.withLock { state in
            state.voids += 1
            state.current.removeAll()
        }
    }

    // MARK: Boarding

    private func joinable(_ key: Key, _ state: borrowing State) -> UInt64? {
        guard let number = state.current[key], let flight = state.flights[number] else { return nil }
        guard gate?.tagChanges == flight.tagChanges else { return nil }
        return gate?.lets(flight.ticket, from: flight.startedAt, joinAt: .now) == false ? nil : number
    }

    private func newFlight(_ key: Key, _ fingerprint: UInt64, _ state: inout State) -> UInt64 {
        state.lastFlight += 1
        state.flights[state.lastFlight] = Flight(
            key: key,
            ticket: gate?.ticket(for: fingerprint) ?? .none,
            tagChanges: gate?.tagChanges,
            startedAt: .now
        )
        state.current[key] = state.lastFlight
        return state.lastFlight
    }

    private struct Boarded {
        var flight: UInt64
        /// Whether the flight has yet to be started.
        var starts: Bool
        /// The watch that is to be kept for the caller, unless one is that comes no later.
        var watch: UInt64?
    }

    /// Puts a caller on the flight of its key.
    private func board(
        _ waiter: UInt64,
        _ key: Key,
        _ fingerprint: UInt64,
        _ patience: Patience,
        _ continuation: CheckedContinuation<Output, any Error>
    ) -> Boarded {
        state.withLock { state in
            let joined = joinable(key, state)
            let number = joined ?? newFlight(key, fingerprint, &state)
            let end = patience.end(startedAt: state.flights[number]?.startedAt ?? .now)
            state.flights[number]?.waiters[waiter] = Waiter(continuation: continuation, end: end)
            state.boarded[waiter] = number
            return Boarded(flight: number, starts: joined == nil, watch: state.look(at: number, by: end))
        }
    }

    /// The task is owned by its flight: it ends with the work, or is cancelled when nobody waits any more.
    private func start(_ number: UInt64, _ work: @escaping @Sendable () async throws -> Output) {
        let task = Task { await self.fly(number, work) }
        let isAbandoned = state.withLock { state in
            state.flights[number]?.task = task
            return state.flights[number] == nil
        }
        if isAbandoned { task.cancel() }
    }

    private func fly(_ number: UInt64, _ work: @Sendable () async throws -> Output) async {
        let outcome: Result<Output, any Error>
        do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
        land(number, outcome)
    }

    private func land(_ number: UInt64, _ outcome: Result<Output, any Error>) {
        let (flight, drainers) = state.withLock { state in (state.remove(number), state.takeDrainers()) }
        if let unclaimed, flight?.waiters.isEmpty != false, case .success(let output) = outcome { unclaimed(output) }
        if let flight { for waiter in flight.waiters.values { waiter.continuation.resume(with: outcome) } }
        for drainer in drainers { drainer.resume(returning: true) }
    }

    func leave(_ waiter: UInt64, throwing error: any Error) {
        let (left, abandoned, drainers) = state.withLock { state in
            guard let number = state.boarded.removeValue(forKey: waiter) else {
                return (nil as Waiter?, nil as Task<Void, Never>?, [] as [CheckedContinuation<Bool, Never>])
            }
            let left = state.flights[number]?.waiters.removeValue(forKey: waiter)
            guard let flight = state.flights[number], flight.waiters.isEmpty, !flight.isAnchored else {
                return (left, nil, [])
            }
            return (left, state.remove(number)?.task, state.takeDrainers())
        }
        abandoned?.cancel()
        left?.continuation.resume(throwing: error)
        for drainer in drainers { drainer.resume(returning: true) }
    }
}

extension Flights.State {
    mutating func remove(_ number: UInt64) -> Flights.Flight? {
        guard let flight = flights.removeValue(forKey: number) else { return nil }
        if current[flight.key] == number { current[flight.key] = nil }
        for waiter in flight.waiters.keys { boarded[waiter] = nil }
        if flight.isAnchored { anchored -= 1 }
        return flight
    }

    /// Those who wait for all flights to land, when all have.
    mutating func takeDrainers() -> [CheckedContinuation<Bool, Never>] {
        guard flights.isEmpty else { return [] }
        defer { drainers.removeAll() }
        return Array(drainers.values)
    }
}
