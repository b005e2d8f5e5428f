/// The bookkeeping of flights, for keys and results of any type.
///
/// Nothing here is generic, so callers of all types run the same machine code without looking types up. Joining and
/// leaving are O(1) and landing is O(waiters), not counting keys of equal hash.
@usableFromInline
final class FlightTable: Sendable {
    struct State: Sendable {
        var flights: [Flight] = []
        /// The first flight that callers may join, by the hash of its key.
        var listed: [Int: Flight] = [:]
        /// How many waiters there are.
        var waiting = 0
        var voids: UInt64 = 0
        /// Anchored flights that a caller has left, because its limit had passed.
        var unattended = 0
        /// Anchored flights that began without a caller.
        var launched = 0
        var anchored: Int { unattended + launched }
        /// Callers that wait for all flights to land.
        var drainers: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var lastDrainer: UInt64 = 0
        /// Drainers whose time was over before they began to wait.
        var lateDrainers: Set<UInt64> = []
    }

    /// The result of an attempt to join.
    enum Boarding {
        /// There is no flight that the caller may join.
        case noFlight
        /// The caller was cancelled before.
        case tooLate
        /// The caller waits for a running flight, or for the new one; it then schedules the watch for `due`.
        case aboard(starts: Bool, due: MonotonicInstant)
    }

    let state = Locked(State())
    let watch: Watch
    let clock: CacheClock
    let gate: FillGate?
    let anchorLimit: Int
    /// How long a flight without callers may go on from now.
    let completionLimit: @Sendable () -> Duration

    init(
        clock: CacheClock,
        gate: FillGate?,
        anchorLimit: Int,
        completionLimit: @escaping @Sendable () -> Duration
    ) {
        self.clock = clock
        watch = Watch(clock)
        self.gate = gate
        self.anchorLimit = anchorLimit
        self.completionLimit = completionLimit
    }

    // MARK: Boarding

    /// The flight that a caller would join now.
    @usableFromInline
    func underWay(hash: Int, isSought: (Flight) -> Bool) -> Flight? {
        state.withLock { joinable(hash, isSought, $0) }
    }

    /// Adds a caller to the running flight of its key, or to a new one.
    ///
    /// - Parameters:
    ///   - waiter: The caller.
    ///   - hash: The hash of its key.
    ///   - limit: How long the caller waits.
    ///   - continuation: Resumed when the wait ends, unless the caller could not join.
    ///   - new: The flight that begins when none is running. Its caller may want another priority than its own.
    ///   - isAlone: Whether the caller joins no flight but the new one.
    ///   - isSought: Whether a flight has the caller's key.
    /// - Returns: Whether the caller has joined.
    func board(
        _ waiter: FlightWaiter,
        hash: Int,
        _ limit: WaitLimit,
        _ continuation: CheckedContinuation<Void, Never>,
        orOn new: Flight? = nil,
        isAlone: Bool = false,
        isSought: (Flight) -> Bool
    ) -> Boarding {
        let priority = Task.currentPriority
        let (boarding, slow) = state.withLock { state -> (Boarding, Flight?) in
            guard waiter.outcome == .waits else { return (.tooLate, nil) }
            let joined = joinable(hash, isSought, state)
            guard let flight = joined ?? new, joined == nil || !isAlone else { return (.noFlight, nil) }
            if joined == nil { state.add(flight, isSought) }
            waiter.continuation = continuation
            waiter.end = limit.end(startedAt: flight.begunAt, by: clock)
            waiter.endsWithOthersFrom = limit.togetherFrom(waiter.end)
            state.admit(waiter, to: flight)
            flight.due = min(flight.due, waiter.end)
            let isSlow = joined != nil && flight.priority < priority
            if isSlow { flight.priority = priority }
            return (.aboard(starts: joined == nil, due: waiter.end), isSlow ? flight : nil)
        }
        if let slow { hurry(slow, priority) }
        return boarding
    }

    /// Raises the priority of a flight's work to that of a waiter, and of the flight that this work waits for.
    private func hurry(_ flight: Flight, _ priority: TaskPriority) {
        if let host = flight.host { return host.table.hurry(host, priority) }
        let (task, awaited) = state.withLock { state in
            flight.priority = max(flight.priority, priority)
            return (flight.task, flight.awaited)
        }
        if #available(macOS 26, *) { task?.escalatePriority(to: priority) }
        guard let awaited, awaited !== flight else { return }
        awaited.table.hurry(awaited, priority)
    }

    /// Notes which other flight the task of a flight waits for, so that its priority rises, too; `nil` for none.
    func waits(_ flight: Flight, for other: Flight?) {
        let priority = state.withLock { state in
            flight.awaited = other
            return flight.priority
        }
        guard let other, other.table.state.withLock({ _ in other.priority < priority }) else { return }
        other.table.hurry(other, priority)
    }

    /// Begins a flight whose first waiter does the work, unless one is running.
    ///
    /// - Returns: Whether it has begun.
    func begin(_ flight: Flight, with waiter: FlightWaiter, isSought: (Flight) -> Bool) -> Bool {
        state.withLock { state in
            guard waiter.outcome == .waits, joinable(flight.hash, isSought, state) == nil else { return false }
            state.add(flight, isSought)
            state.admit(waiter, to: flight)
            return true
        }
    }

    /// Begins a flight without waiters, unless one is running or there is no room for another anchored one.
    func launch(_ flight: Flight, isSought: (Flight) -> Bool) -> Boarding {
        state.withLock { state in
            guard joinable(flight.hash, isSought, state) == nil, state.anchored < anchorLimit else { return .noFlight }
            state.add(flight, isSought)
            flight.isLaunched = true
            let end = clock.now.advanced(by: completionLimit())
            state.anchor(flight, until: end)
            return .aboard(starts: true, due: end)
        }
    }

    private func joinable(_ hash: Int, _ isSought: (Flight) -> Bool, _ state: borrowing State) -> Flight? {
        guard let flight = state.find(hash, isSought), gate?.tagChanges == flight.tagChanges else { return nil }
        return gate?.lets(flight.ticket, from: flight.startedAt, joinAt: .now) == false ? nil : flight
    }

    // MARK: Leaving

    /// Removes a cancelled caller; the last one to leave cancels the work.
    func leave(_ waiter: FlightWaiter) {
        let release = state.withLock { state in
            var release = Release()
            guard waiter.outcome == .waits else { return release }
            waiter.end(as: .cancelled)
            guard let flight = waiter.flight else { return release }
            state.dismiss(waiter)
            release.waiters.append(waiter)
            if flight.waiters.isEmpty, !flight.isAnchored {
                state.remove(flight)
                release.abandoned.append(flight)
                release.drainers = state.takeDrainers()
            }
            return release
        }
        release.perform()
    }

    /// The work of a flight has ended.
    ///
    /// - Returns: What the caller does outside the lock.
    func land(_ flight: Flight) -> Release {
        state.withLock { state in
            let waiters = flight.waiters
            for waiter in waiters { waiter.end(as: .landed) }
            flight.hasLanded = true
            state.remove(flight)
            return Release(waiters: waiters, drainers: state.takeDrainers())
        }
    }

    /// Later callers start anew.
    func void(hash: Int, isSought: (Flight) -> Bool) {
        state.withLock { state in
            state.voids += 1
            if let flight = state.find(hash, isSought) { state.unlist(flight) }
        }
    }

    /// All later callers start anew.
    func voidAll() {
        state.withLock { state in
            state.voids += 1
            for flight in state.flights {
                flight.isListed = false
                flight.next = nil
            }
            state.listed.removeAll()
        }
    }

    // MARK: Work

    /// Notes the task that does the work of a flight.
    func started(_ flight: Flight, _ task: Task<Void, Never>) {
        let (isCancelled, priority) = state.withLock { state in
            flight.task = task
            return (flight.isCancelled, flight.priority)
        }
        if isCancelled { task.cancel() }
        // A waiter of higher priority may have come before the task was known.
        if #available(macOS 26, *), Task.currentPriority < priority { task.escalatePriority(to: priority) }
    }

    /// Notes on which flight's work the task of a flight is: abandoning the flight then leaves that one and does not
    /// cancel the task.
    ///
    /// - Returns: Whether the flight still has waiters, or is anchored.
    func work(of flight: Flight, by waiter: FlightWaiter?) -> Bool {
        state.withLock { state in
            flight.worker = waiter
            return !flight.isAbandoned
        }
    }

    /// Ends the work of a flight without waiters, unless others wait for the work that its task does.
    func abandon(_ flight: Flight) {
        if let host = flight.host { return host.table.cancelTask(of: host) }
        let worker = state.withLock { state in
            flight.isAbandoned = true
            return flight.worker
        }
        guard let worker else { return cancelTask(of: flight) }
        worker.table.leave(worker)
    }

    private func cancelTask(of flight: Flight) {
        let task = state.withLock { state in
            flight.isCancelled = true
            return flight.task
        }
        task?.cancel()
    }

    /// What is done outside the lock.
    struct Release: Sendable {
        var waiters: [FlightWaiter] = []
        var abandoned: [Flight] = []
        var drainers: [CheckedContinuation<Bool, Never>] = []

        func perform() {
            for flight in abandoned { flight.table.abandon(flight) }
            for waiter in waiters { waiter.continuation?.resume() }
            for drainer in drainers { drainer.resume(returning: true) }
        }
    }
}

extension FlightTable.State {
    func find(_ hash: Int, _ isSought: (Flight) -> Bool) -> Flight? {
        var flight = listed[hash]
        while let candidate = flight, !isSought(candidate) { flight = candidate.next }
        return flight
    }

    /// Adds a flight; later callers join it in the place of an earlier one of the same key.
    mutating func add(_ flight: Flight, _ isSought: (Flight) -> Bool) {
        if let earlier = find(flight.hash, isSought) { unlist(earlier) }
        enter(flight)
        flight.isListed = true
        flight.next = listed.updateValue(flight, forKey: flight.hash)
    }

    /// Adds a flight that no lookup finds.
    mutating func enter(_ flight: Flight) {
        flight.place = flights.count
        flights.append(flight)
    }

    mutating func unlist(_ flight: Flight) {
        guard flight.isListed else { return }
        flight.isListed = false
        defer { flight.next = nil }
        guard var before = listed[flight.hash], before !== flight else {
            listed[flight.hash] = flight.next
            return
        }
        while let other = before.next, other !== flight { before = other }
        before.next = flight.next
    }

    /// Removes a flight with its waiters.
    mutating func remove(_ flight: Flight) {
        guard let place = flight.place else { return }
        flight.place = nil
        let last = flights.removeLast()
        if last !== flight {
            flights[place] = last
            last.place = place
        }
        unlist(flight)
        waiting -= flight.waiters.count
        flight.waiters.removeAll()
        if flight.isAnchored { countAnchored(flight, by: -1) }
    }

    mutating func admit(_ waiter: FlightWaiter, to flight: Flight) {
        waiter.flight = flight
        waiter.place = flight.waiters.count
        flight.waiters.append(waiter)
        waiting += 1
    }

    mutating func dismiss(_ waiter: FlightWaiter) {
        guard let flight = waiter.flight else { return }
        let last = flight.waiters.removeLast()
        if last !== waiter {
            flight.waiters[waiter.place] = last
            last.place = waiter.place
        }
        waiting -= 1
    }

    /// The callers that wait for all flights to land, when all have.
    mutating func takeDrainers() -> [CheckedContinuation<Bool, Never>] {
        guard flights.isEmpty, !drainers.isEmpty else { return [] }
        defer { drainers.removeAll() }
        return Array(drainers.values)
    }
}
