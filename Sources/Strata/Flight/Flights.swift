/// The work under way in this process, one flight a key: whoever asks for a key that is on its way joins.
///
/// - Joining is atomic: of any number of tasks that ask at the same instant, one starts the work.
/// - The work runs in a task of its own. A caller that is cancelled leaves alone; the last one to leave cancels the work.
/// - Work that is needed by another flight's work can run in that one's task:
///   ``join(_:fingerprint:limit:within:joined:_:)``.
/// - A flight that is *anchored* goes on without callers, up to the completion limit: a caller with a wait limit anchors
///   the flight it gives up on, and ``launch(_:fingerprint:_:)`` starts one that nobody waits for. Their number is bounded.
/// - ``void(_:)`` takes a key off: those who wait still get what they asked for, later callers start anew.
/// - While nobody tells of changes, later callers start anew when the flight is older than what may be kept.
/// - When the flight has landed it is forgotten, whatever came of it. This is not a cache.
@usableFromInline
package final class Flights<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    /// Whether a caller has started the work or joined it.
    package enum Role: Sendable {
        case started
        case joined
    }

    @usableFromInline
    let table: FlightTable
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
        table = FlightTable(gate: gate, anchorLimit: anchorLimit, completionLimit: completionLimit)
        self.unclaimed = unclaimed
    }

    /// Flights that are under way.
    package var count: Int { table.state.withLock { $0.flights.count } }

    /// Flights that go on whether anybody waits or not.
    package var anchored: Int { table.state.withLock { $0.anchored } }

    /// Callers that wait for a flight now.
    package var waiting: Int { table.state.withLock { $0.waiting } }

    /// How often keys were voided since the start.
    var voids: UInt64 { table.state.withLock { $0.voids } }

    /// Whether a caller of this key would join a flight now.
    package func isUnderWay(_ key: Key) -> Bool {
        table.underWay(hash: key.hashValue) { has($0, key) } != nil
    }

    /// Waits for the work on a key, and starts it unless it is under way.
    ///
    /// - Parameters:
    ///   - key: What is asked for.
    ///   - fingerprint: The number by which the gate knows the key.
    ///   - limit: How long the caller waits; for ever by default.
    ///   - joined: Called before waiting when the work is under way already, and `work` will not run.
    ///   - work: Runs once for all who join; it is told the flight. It is cancelled when the last of them has left.
    /// - Returns: What the work returned, and whether this call has started it.
    /// - Throws: What the work has thrown, to all who joined; `CancellationError` to a caller that is cancelled;
    ///   ``WaitLimitReached`` to one that has waited long enough.
    package func join(
        _ key: Key,
        fingerprint: @autoclosure () -> UInt64 = 0,
        limit: WaitLimit = .unlimited,
        joined: () -> Void = {},
        _ work: @escaping @Sendable (Flight) async throws -> Output
    ) async throws -> (output: Output, role: Role) {
        try await join(key, fingerprint: fingerprint, limit: limit, for: nil, joined: joined, work)
    }

    private func join(
        _ key: Key,
        fingerprint: () -> UInt64,
        limit: WaitLimit,
        for outer: Flight?,
        joined: () -> Void,
        _ work: @escaping @Sendable (Flight) async throws -> Output
    ) async throws -> (output: Output, role: Role) {
        try Task.checkCancellation()
        let waiter = FlightWaiter(table)
        let hash = key.hashValue
        var role = Role.joined
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                var new: KeyedFlight<Key, Output>?
                var boarding = table.board(waiter, hash: hash, limit, continuation) { has($0, key) }
                if case .noFlight = boarding {
                    // Whoever joins is spared the fingerprint; and another may have begun meanwhile.
                    new = KeyedFlight(table, key, hash: hash, fingerprint: fingerprint())
                    boarding = table.board(waiter, hash: hash, limit, continuation, orOn: new) { has($0, key) }
                }
                switch boarding {
                case .noFlight, .tooLate: continuation.resume()
                case .aboard(let starts, let due):
                    if starts, let new {
                        role = .started
                        start(new, work)
                    } else {
                        joined()
                    }
                    table.watch.schedule(table, by: due)
                    if let outer { outer.table.waits(outer, for: waiter.flight) }
                }
            }
        } onCancel: {
            table.leave(waiter)
        }
        if let outer { outer.table.waits(outer, for: nil) }
        return (try output(for: waiter), role)
    }

    /// Waits for the work on a key that is under way.
    ///
    /// What the caller runs of this is compiled for its types; the rest knows no types at all.
    ///
    /// - Parameters:
    ///   - key: What is asked for.
    ///   - limit: How long the caller waits.
    ///   - isSought: Asked before joining, when there is something to be joined.
    /// - Returns: The flight, when it has landed; `nil` when none is under way.
    /// - Throws: `CancellationError`; ``/Strata/CacheError/Code/timeout``.
    @inlinable
    package func joinUnderWay(
        _ key: Key,
        limit: WaitLimit,
        if isSought: () -> Bool
    ) async throws -> Delivery<Output>? {
        guard let flight = table.underWay(hash: key.hashValue, isSought: { has($0, key) }), isSought(),
            try await table.wait(on: flight, limit)
        else { return nil }
        return unsafe unsafeDowncast(flight, to: Delivery<Output>.self)
    }

    /// Does the work on a key within the work of another flight, in its task and without a change of thread, unless it is
    /// under way: then waits for that.
    ///
    /// Others may join the work. It is not cancelled with the other flight's callers as long as somebody waits for it.
    ///
    /// - Parameters:
    ///   - key: What is asked for.
    ///   - fingerprint: The number by which the gate knows the key.
    ///   - limit: How long is waited for work that is under way.
    ///   - outer: The flight in whose task this is called; `nil` for a task that belongs to none.
    ///   - joined: Called before waiting when the work is under way already, and `work` will not run.
    ///   - work: Runs once for all who join.
    /// - Returns: What the work returned, and whether this call has started it.
    /// - Throws: What the work has thrown; `CancellationError`; ``WaitLimitReached``.
    package func join(
        _ key: Key,
        fingerprint: UInt64,
        limit: WaitLimit,
        within outer: Flight?,
        joined: () -> Void,
        _ work: @escaping @Sendable () async throws -> Output
    ) async throws -> (output: Output, role: Role) {
        if let outer {
            let flight = KeyedFlight<Key, Output>(
                table,
                key,
                hash: key.hashValue,
                fingerprint: fingerprint,
                host: outer
            )
            let waiter = FlightWaiter(table)
            guard outer.table.work(of: outer, by: waiter) else { throw CancellationError() }
            let begins = table.begin(flight, with: waiter) { has($0, key) }
            if begins { await fly(flight, work) }
            let isWanted = outer.table.work(of: outer, by: nil)
            if begins { return (try output(for: waiter), .started) }
            guard isWanted else { throw CancellationError() }
        }
        return try await join(key, fingerprint: { fingerprint }, limit: limit, for: outer, joined: joined) { _ in
            try await work()
        }
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
        let new = KeyedFlight<Key, Output>(table, key, hash: key.hashValue, fingerprint: fingerprint)
        guard case .aboard(_, let due) = table.launch(new, isSought: { has($0, key) }) else { return false }
        start(new) { _ in try await work() }
        table.watch.schedule(table, by: due)
        return true
    }

    /// Lets later callers of a key start anew.
    ///
    /// O(1).
    package func void(_ key: Key) {
        table.void(hash: key.hashValue) { has($0, key) }
    }

    /// Lets all later callers start anew.
    ///
    /// O(flights).
    package func voidAll() { table.voidAll() }

    /// Waits until every flight has landed, anchored or not, for at most `limit`; then cancels those that have not.
    ///
    /// - Returns: Whether all have landed by themselves.
    @discardableResult
    package func drain(within limit: Duration) async -> Bool { await table.drain(within: limit) }

    // MARK: Work

    /// All flights of the table are of this kind.
    @inlinable
    func has(_ flight: Flight, _ key: Key) -> Bool {
        unsafe unsafeDowncast(flight, to: KeyedFlight<Key, Output>.self).key == key
    }

    /// The task is owned by its flight: it ends with the work, or is cancelled when nobody waits any more.
    ///
    /// Detached: it works for all who join and may outlive the caller who happened to come first, so that one's task-local
    /// values are not its own. Its priority is the first caller's, until a more urgent one joins.
    private func start(
        _ flight: KeyedFlight<Key, Output>,
        _ work: @escaping @Sendable (Flight) async throws -> Output
    ) {
        let task = Task.detached(priority: Task.currentPriority) { [self] in
            await fly(flight) { try await work(flight) }
        }
        table.started(flight, task)
    }

    private func fly(_ flight: KeyedFlight<Key, Output>, _ work: @Sendable () async throws -> Output) async {
        let outcome = await Result { try await work() }
        flight.outcome = outcome
        let release = table.land(flight)
        if let unclaimed, release.waiters.isEmpty, case .success(let output) = outcome { unclaimed(output) }
        release.perform()
    }

    /// What a waiter gets that has been let go.
    private func output(for waiter: FlightWaiter) throws -> Output {
        switch (waiter.outcome, waiter.flight) {
        case (.landed, let flight?):
            guard let outcome = unsafe unsafeDowncast(flight, to: KeyedFlight<Key, Output>.self).outcome else { break }
            return try outcome.get()
        case (.waitLimitReached, _): throw WaitLimitReached()
        default: break
        }
        throw CancellationError()
    }
}
