internal import Synchronization

/// The work under way in this process, one flight a key: whoever asks for a key that is on its way joins.
///
/// - Joining is atomic: of any number of tasks that ask at the same instant, one starts the work.
/// - The work runs in a task of its own. A caller that is cancelled leaves alone; the last one to leave cancels the work.
/// - ``void(_:)`` takes a key off: those who wait still get what they asked for, later callers start anew.
/// - When the flight has landed it is forgotten, whatever came of it. This is not a cache.
package final class Flights<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    private struct Flight {
        let key: Key
        /// Taken before the work begins: who asks after it is void must not join.
        let ticket: Ticket
        /// Which tags the flight will bring is not known yet, so any that is invalidated ends it for later callers.
        let tagChanges: UInt64?
        var waiters: [UInt64: CheckedContinuation<Output, any Error>] = [:]
        var task: Task<Void, Never>?
    }

    private struct State {
        var flights: [UInt64: Flight] = [:]
        /// The flight that callers of a key may join.
        var current: [Key: UInt64] = [:]
        /// The flight on which a caller waits.
        var boarded: [UInt64: UInt64] = [:]
        var lastFlight: UInt64 = 0
        var voids: UInt64 = 0
    }

    /// Whether a caller has started the work or joined it.
    package enum Role: Sendable {
        case started
        case joined
    }

    private let state = Locked(State())
    private let lastWaiter = Atomic<UInt64>(0)
    private let gate: FillGate?

    /// - Parameter gate: Ends flights for later callers when their key changes; ``void(_:)`` alone does so without one.
    package init(gate: FillGate? = nil) {
        self.gate = gate
    }

    /// Flights that are under way.
    package var count: Int { state.withLock { $0.flights.count } }

    /// Callers that wait for a flight now.
    package var waiting: Int { state.withLock { $0.boarded.count } }

    /// How often keys were voided since the start.
    var voids: UInt64 { state.withLock { $0.voids } }

    /// Whether a caller of this key would join a flight now.
    package func isUnderWay(_ key: Key) -> Bool {
        state.withLock { state in
            guard let number = state.current[key], let flight = state.flights[number] else { return false }
            return isJoinable(flight)
        }
    }

    /// Waits for the work on a key, and starts it unless it is under way.
    ///
    /// - Parameters:
    ///   - key: What is asked for.
    ///   - fingerprint: The number by which the gate knows the key.
    ///   - work: Runs once for all who join. It is cancelled when the last of them has left.
    /// - Returns: What the work returned, and whether this call has started it.
    /// - Throws: What the work has thrown, to all who joined; `CancellationError` to a caller that is cancelled.
    package func join(
        _ key: Key,
        fingerprint: UInt64 = 0,
        _ work: @escaping @Sendable () async throws -> Output
    ) async throws -> (output: Output, role: Role) {
        let waiter = lastWaiter.wrappingAdd(1, ordering: .relaxed).newValue
        var role = Role.joined
        let output = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if let started = board(waiter, key, fingerprint, continuation) {
                    role = .started
                    start(started, work)
                }
                // A cancellation before boarding found nobody to let go.
                if Task.isCancelled { leave(waiter) }
            }
        } onCancel: {
            leave(waiter)
        }
        return (output, role)
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

    /// Puts a caller on the flight of its key.
    ///
    /// Returns the flight's number when it has yet to be started.
    private func board(
        _ waiter: UInt64,
        _ key: Key,
        _ fingerprint: UInt64,
        _ continuation: CheckedContinuation<Output, any Error>
    ) -> UInt64? {
        state.withLock { state in
            let joined = state.current[key]
                .flatMap { number in
                    state.flights[number].flatMap { isJoinable($0) ? number : nil }
                }
            let number = joined ?? state.lastFlight + 1
            if joined == nil {
                state.lastFlight = number
                state.flights[number] = Flight(
                    key: key,
                    ticket: gate?.ticket(for: fingerprint) ?? .none,
                    tagChanges: gate?.tagChanges
                )
                state.current[key] = number
            }
            state.flights[number]?.waiters[waiter] = continuation
            state.boarded[waiter] = number
            return joined == nil ? number : nil
        }
    }

    private func isJoinable(_ flight: Flight) -> Bool {
        gate?.isLive(flight.ticket) != false && gate?.tagChanges == flight.tagChanges
    }

    /// The task is owned by its flight: it ends with the work, or is cancelled when nobody waits any more.
    private func start(_ number: UInt64, _ work: @escaping @Sendable () async throws -> Output) {
        let task = Task {
            let outcome: Result<Output, any Error>
            do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
            self.land(number, outcome)
        }
        let isAbandoned = state.withLock { state in
            state.flights[number]?.task = task
            return state.flights[number] == nil
        }
        if isAbandoned { task.cancel() }
    }

    private func land(_ number: UInt64, _ outcome: Result<Output, any Error>) {
        let waiters = state.withLock { state -> [CheckedContinuation<Output, any Error>] in
            guard let flight = state.flights.removeValue(forKey: number) else { return [] }
            if state.current[flight.key] == number { state.current[flight.key] = nil }
            for waiter in flight.waiters.keys { state.boarded[waiter] = nil }
            return Array(flight.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: outcome) }
    }

    private func leave(_ waiter: UInt64) {
        let (continuation, abandoned) = state.withLock { state in
            guard let number = state.boarded.removeValue(forKey: waiter) else {
                return (nil as CheckedContinuation<Output, any Error>?, nil as Task<Void, Never>?)
            }
            let continuation = state.flights[number]?.waiters.removeValue(forKey: waiter)
            guard let flight = state.flights[number], flight.waiters.isEmpty else { return (continuation, nil) }
            state.flights[number] = nil
            if state.current[flight.key] == number { state.current[flight.key] = nil }
            return (continuation, flight.task)
        }
        abandoned?.cancel()
        continuation?.resume(throwing: CancellationError())
    }
}
