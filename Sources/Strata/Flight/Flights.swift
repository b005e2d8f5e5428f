/// The work that is running in this process, one flight for each key.
///
/// - Joining is atomic: of any number of tasks that ask at the same instant, one starts the work.
/// - The work runs in a task of its own. A cancelled caller leaves alone; the last one to leave cancels the work.
/// - Work that another flight's work needs can run in that flight's task:
///   ``join(_:fingerprint:limit:within:joined:_:)``.
/// - An *anchored* flight goes on without waiters, up to the completion limit. A caller whose wait limit passes anchors
///   the flight that it leaves, and ``launch(_:fingerprint:_:)`` starts an anchored one. Their number is bounded. When
///   that time is over, the flight is closed to later callers; it goes on for those who have joined and may wait
///   longer.
/// - ``void(_:)`` closes a flight to later callers, which start anew; its waiters still get its result.
/// - Work may offer something for callers whose limit passes first: ``Delivery/offer(_:)``.
/// - While the link is down, callers start anew when the flight is older than what levels may keep.
/// - A flight that has landed is forgotten. This is not a cache.
@usableFromInline
package final class Flights<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    @usableFromInline
    let table: FlightTable
    private let unclaimed: (@Sendable (Output) -> Void)?

    /// - Parameters:
    ///   - clock: What limits are counted by.
    ///   - gate: Closes flights to later callers when their key changes; without one only ``void(_:)`` does.
    ///   - anchorLimit: How many flights may go on without waiters.
    ///   - completionLimit: How long each of those may run before it is cancelled; asked when a flight loses its last
    ///     waiter.
    ///   - unclaimed: Gets the result of work that no waiter was left for.
    package init(
        clock: CacheClock = .current,
        gate: FillGate? = nil,
        anchorLimit: Int = 256,
        completionLimit: @autoclosure @escaping @Sendable () -> Duration = .seconds(30),
        unclaimed: (@Sendable (Output) -> Void)? = nil
    ) {
        table = FlightTable(clock: clock, gate: gate, anchorLimit: anchorLimit, completionLimit: completionLimit)
        self.unclaimed = unclaimed
    }

    /// Flights that are under way.
    package var count: Int { table.state.withLock { $0.flights.count } }

    /// Flights that go on although a caller has given up waiting for them.
    package var unattended: Int { table.state.withLock { $0.unattended } }

    /// Flights that were started without a caller, within their time.
    package var launched: Int { table.state.withLock { $0.launched } }

    /// Callers that wait for a flight now.
    package var waiting: Int { table.state.withLock { $0.waiting } }

    /// How often keys were voided since the start.
    var voids: UInt64 { table.state.withLock { $0.voids } }

    /// Whether a caller of this key would join a flight now.
    package func isUnderWay(_ key: Key) -> Bool {
        table.underWay(hash: key.hashValue) { has($0, key) } != nil
    }

    /// Waits for the work on a key, and starts it unless it is running.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - fingerprint: The number by which the gate knows the key.
    ///   - limit: How long the caller waits; without a limit by default.
    ///   - priority: The priority of the work, if it begins; that of the caller by default.
    ///   - joined: Called before waiting when the work is running already, and `work` will not run.
    ///   - work: Runs once for all callers that join, and is cancelled when the last of them has left.
    /// - Returns: The result of the work, and whether this call has started it.
    /// - Throws: The error of the work, to all that joined; `CancellationError` to a cancelled caller;
    ///   ``WaitLimitReached`` to a caller whose limit has passed.
    package func join(
        _ key: Key,
        fingerprint: @autoclosure () -> UInt64 = 0,
        limit: WaitLimit = .unlimited,
        priority: TaskPriority? = nil,
        joined: () -> Void = {},
        _ work: @escaping @Sendable (Flight) async throws -> Output
    ) async throws -> (output: Output, role: FlightRole) {
        let begun = try await board(key, fingerprint, limit, priority, for: nil, isAlone: false, joined, work)
        guard let begun else { throw CancellationError() }
        return begun
    }

    /// Starts the work on a key and waits for it, unless it is running.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - fingerprint: The number by which the gate knows the key.
    ///   - limit: How long the caller waits.
    ///   - priority: The priority of the work; that of the caller by default.
    ///   - work: Runs once, also for all callers that join.
    /// - Returns: The result of the work; `nil` when it was running.
    /// - Throws: As `join`.
    package func begin(
        _ key: Key,
        fingerprint: @autoclosure () -> UInt64 = 0,
        limit: WaitLimit,
        priority: TaskPriority? = nil,
        _ work: @escaping @Sendable (Flight) async throws -> Output
    ) async throws -> Output? {
        try await board(key, fingerprint, limit, priority, for: nil, isAlone: true, {}, work)?.output
    }

    /// - Returns: `nil` when a caller that is alone has found the work running.
    private func board(
        _ key: Key,
        _ fingerprint: () -> UInt64,
        _ limit: WaitLimit,
        _ priority: TaskPriority?,
        for outer: Flight?,
        isAlone: Bool,
        _ joined: () -> Void,
        _ work: @escaping @Sendable (Flight) async throws -> Output
    ) async throws -> (output: Output, role: FlightRole)? {
        try Task.checkCancellation()
        let waiter = FlightWaiter(table)
        let hash = key.hashValue
        var role = FlightRole.joined
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                var new: KeyedFlight<Key, Output>?
                var boarding = Boarding.noFlight
                if !isAlone { boarding = table.board(waiter, hash: hash, limit, continuation) { has($0, key) } }
                if case .noFlight = boarding {
                    // A caller that joins needs no fingerprint. Another flight may have begun meanwhile.
                    new = KeyedFlight(table, key, hash: hash, fingerprint: fingerprint(), priority: priority)
                    boarding = table.board(waiter, hash: hash, limit, continuation, orOn: new, isAlone: isAlone) {
                        has($0, key)
                    }
                }
                switch boarding {
                case .noFlight, .tooLate: continuation.resume()
                case .aboard(let starts, let due):
                    if starts, let new {
                        role = .started
                        start(new, priority, work)
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
        if isAlone, waiter.flight == nil, !Task.isCancelled { return nil }
        let (output, isLate) = try output(for: waiter, hasStarted: role == .started)
        return (output, isLate ? .late : role)
    }

    private typealias Boarding = FlightTable.Boarding

    /// Waits for work on a key that is running.
    ///
    /// Only this part is compiled for the caller's types; the rest is not generic.
    ///
    /// - Parameters:
    ///   - key: What is asked for.
    ///   - limit: How long the caller waits.
    ///   - isSought: Called before joining, when there is a flight to join.
    /// - Returns: The flight, when it has landed, or, when the limit has passed before, has something for that case;
    ///   `nil` when there was none to join.
    /// - Throws: `CancellationError`; ``/Strata/CacheError/Code/timeout``.
    @inlinable
    package func joinUnderWay(
        _ key: Key,
        limit: WaitLimit,
        if isSought: () -> Bool
    ) async throws -> (flight: Delivery<Output>, isLate: Bool)? {
        guard let flight = table.underWay(hash: key.hashValue, isSought: { has($0, key) }), isSought(),
            let end = try await table.wait(on: flight, limit)
        else { return nil }
        return (unsafe unsafeDowncast(flight, to: Delivery<Output>.self), end == .late)
    }

    /// What work on a key brings that a caller has left, for as long as it takes.
    ///
    /// - Returns: The result, and whether that caller had begun the work; `nil` where no such work is among those, or
    ///   it was closed to later callers or cancelled.
    /// - Throws: The error of the work; `CancellationError`.
    package func outcome(of key: Key, among left: LeftFlights) async throws -> (output: Output, isOwn: Bool)? {
        let sought = left.all.last { $0.flight.table === table && has($0.flight, key) }
        guard let sought else { return nil }
        let flight = sought.flight
        let end = try await table.wait(on: flight, .unlimited)
        guard end == .landed || table.state.withLock({ _ in flight.hasLanded }),
            let outcome = unsafe unsafeDowncast(flight, to: KeyedFlight<Key, Output>.self).outcome
        else { return nil }
        do { return (try outcome.get(), sought.isOwn) } catch { throw SourceFailure.cause(of: error) }
    }

    /// Does the work on a key within the work of another flight, in its task; waits instead when the work is running
    /// already.
    ///
    /// Nothing changes threads. Others may join the work; it is not cancelled with the other flight as long as one of
    /// them waits.
    ///
    /// - Parameters:
    ///   - key: What is asked for.
    ///   - fingerprint: The number by which the gate knows the key.
    ///   - limit: How long the caller waits for work that is running.
    ///   - priority: The priority of work in a task of its own, if it begins; that of the caller by default.
    ///   - outer: The flight in whose task this is called; `nil` for a task that belongs to none.
    ///   - joined: Called before waiting when the work is under way already, and `work` will not run.
    ///   - work: Runs once for all who join.
    /// - Returns: The result of the work, and whether this call has started it.
    /// - Throws: The error of the work; `CancellationError`; ``WaitLimitReached``.
    package func join(
        _ key: Key,
        fingerprint: UInt64,
        limit: WaitLimit,
        priority: TaskPriority? = nil,
        within outer: Flight?,
        joined: () -> Void,
        _ work: @escaping @Sendable () async throws -> Output
    ) async throws -> (output: Output, role: FlightRole) {
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
            if begins { return (try output(for: waiter, hasStarted: true).output, .started) }
            guard isWanted else { throw CancellationError() }
        }
        let begun = try await board(key, { fingerprint }, limit, priority, for: outer, isAlone: false, joined) { _ in
            try await work()
        }
        guard let begun else { throw CancellationError() }
        return begun
    }

    /// Starts the work on a key without a waiter, unless it is running or there is no room for another anchored flight.
    ///
    /// - Returns: Whether it was started.
    @discardableResult
    package func launch(
        _ key: Key,
        fingerprint: UInt64 = 0,
        priority: TaskPriority? = nil,
        _ work: @escaping @Sendable () async throws -> Output
    ) -> Bool {
        let new = KeyedFlight<Key, Output>(
            table,
            key,
            hash: key.hashValue,
            fingerprint: fingerprint,
            priority: priority
        )
        guard case .aboard(_, let due) = table.launch(new, isSought: { has($0, key) }) else { return false }
        start(new, priority) { _ in try await work() }
        table.watch.schedule(table, by: due)
        return true
    }

    /// Closes the flight of a key to later callers.
    ///
    /// O(1).
    package func void(_ key: Key) {
        table.void(hash: key.hashValue) { has($0, key) }
    }

    /// Closes all flights to later callers.
    ///
    /// O(flights).
    package func voidAll() { table.voidAll() }

    /// Does a caller's own work, which no other caller joins: a drain waits for it and does not cancel it.
    package func during<Result>(_ work: () async throws -> Result) async rethrows -> Result {
        try await table.during(work)
    }

    /// Waits until every flight has landed, for at most `limit`; then cancels those that have not.
    ///
    /// - Returns: Whether all landed by themselves.
    @discardableResult
    package func drain(within limit: Duration) async -> Bool { await table.drain(within: limit) }

    // MARK: Work

    /// Whether a flight has this key; all flights of the table are of this type.
    @inlinable
    func has(_ flight: Flight, _ key: Key) -> Bool {
        unsafe unsafeDowncast(flight, to: KeyedFlight<Key, Output>.self).key == key
    }

    /// Starts the task of a flight, which owns it: it ends with the work, or is cancelled with the last waiter.
    ///
    /// The task is detached, because it works for all callers that join and may outlive the first one, whose task-local
    /// values are not its own. It has the first caller's priority, or the one that it has asked for, until a caller of
    /// higher priority joins.
    private func start(
        _ flight: KeyedFlight<Key, Output>,
        _ priority: TaskPriority?,
        _ work: @escaping @Sendable (Flight) async throws -> Output
    ) {
        let task = Task.detached(priority: priority ?? Task.currentPriority) { [self] in
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

    /// The result for a waiter that was resumed.
    private func output(for waiter: FlightWaiter, hasStarted: Bool) throws -> (output: Output, isLate: Bool) {
        guard let flight = waiter.flight else { throw CancellationError() }
        let delivery = unsafe unsafeDowncast(flight, to: KeyedFlight<Key, Output>.self)
        switch waiter.outcome {
        case .landed:
            guard let outcome = delivery.outcome else { throw CancellationError() }
            return (try outcome.get(), false)
        case .waitLimitReached:
            guard let spare = delivery.offered else {
                throw WaitLimitReached(LeftFlight(flight: flight, isOwn: hasStarted))
            }
            return (spare, true)
        case .waits, .cancelled: throw CancellationError()
        }
    }
}

/// The part of a caller in the work that it has waited for.
package enum FlightRole: Sendable {
    case started
    case joined
    /// Its limit has passed before the work has ended, and it got what the work had offered for that case.
    case late
}
