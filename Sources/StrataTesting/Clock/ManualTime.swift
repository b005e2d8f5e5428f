internal import Strata
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The time behind a ``ManualClock``: what it shows, who sleeps on it, and what is due.
final class ManualTime: MovedTime {
    /// Times beyond this would meet the end of what instants can tell.
    private static let longest = Duration.seconds(100 * 366 * 86_400)

    private struct Sleeper {
        /// When it wakes; `nil` for one that looks again at each move.
        let deadline: MonotonicInstant?
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Appointment {
        weak var owner: (any Watched)?
        var due: MonotonicInstant
    }

    private struct State {
        var sleepers: [Int: Sleeper] = [:]
        var lastNumber = 0
        /// How often the clock was moved.
        var count = 0
        var appointments: [ObjectIdentifier: Appointment] = [:]
        var keepers: [Keeper] = []

        mutating func next() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private struct Keeper {
        weak var keeper: (any ServerKeyKeeper)?
    }

    /// What the clock showed when it was made.
    let start = MonotonicInstant.now
    let epoch: Int64
    /// Sleeps that have begun since the clock was made.
    let begun = Arrivals()
    private let moved = Atomic<Int64>(0)
    private let state = Locked(State())

    init() {
        var wall = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &wall)
        let since1970 = Int64(wall.tv_sec) * 1_000_000_000 + Int64(wall.tv_nsec)
        epoch = start.nanoseconds(to: MonotonicInstant(nanoseconds: since1970))
    }

    var moves: Int64 { moved.load(ordering: .acquiring) }

    var now: MonotonicInstant { start.advanced(byNanoseconds: moves) }

    private var running: MonotonicInstant { MonotonicInstant.now.advanced(byNanoseconds: moves) }

    // MARK: Moving

    /// - Throws: ``HarnessError/Code/invalidTime`` for a time by which the clock cannot be moved.
    private func check(_ duration: Duration) throws(HarnessError) {
        guard duration >= .zero else { throw HarnessError(.invalidTime, "a clock cannot go back: \(duration)") }
        guard .nanoseconds(moves) + duration <= Self.longest else {
            throw HarnessError(.invalidTime, "a clock cannot be moved by more than 100 years")
        }
    }

    /// The keys at servers that are kept alive while the clock is moved; what cannot outlast that is given up.
    ///
    /// - Throws: ``HarnessError/Code/invalidTime``.
    func keptKeys(after duration: Duration) throws(HarnessError) -> Set<[UInt8]> {
        try check(duration)
        let keepers = state.withLock { state in
            state.keepers.removeAll { $0.keeper == nil }
            return state.keepers.compactMap(\.keeper)
        }
        let end = running.advanced(by: duration)
        return Set(keepers.flatMap { $0.keysKept(until: end) })
    }

    /// Moves the clock, and does what is due.
    func move(by duration: Duration) throws(HarnessError) {
        let step = duration.saturatedNanoseconds
        let (due, looking) = try state.withLock { state throws(HarnessError) in
            // Again: another may have moved it meanwhile.
            try check(duration)
            moved.wrappingAdd(step, ordering: .acquiringAndReleasing)
            state.count += 1
            let now = now
            var due: [(deadline: MonotonicInstant, continuation: CheckedContinuation<Void, any Error>)] = []
            var looking: [CheckedContinuation<Void, any Error>] = []
            for (number, sleeper) in state.sleepers {
                guard let deadline = sleeper.deadline else {
                    looking.append(sleeper.continuation)
                    state.sleepers[number] = nil
                    continue
                }
                guard deadline <= now else { continue }
                due.append((deadline, sleeper.continuation))
                state.sleepers[number] = nil
            }
            return (due.sorted { $0.deadline < $1.deadline }, looking)
        }
        for sleeper in due { sleeper.continuation.resume() }
        for continuation in looking { continuation.resume() }
        fire()
        forgetOwners()
    }

    // MARK: What is due

    func call(_ owner: any Watched, at time: MonotonicInstant) {
        let isDue = state.withLock { state in
            let name = ObjectIdentifier(owner)
            if let known = state.appointments[name], known.owner != nil, known.due <= time { return false }
            state.appointments[name] = Appointment(owner: owner, due: time)
            return time <= now
        }
        // Not here: the owner may hold a lock.
        if isDue { Task.detached { [self] in fire() } }
    }

    /// Does what is due, the earliest first, until nothing is.
    private func fire() {
        while let owner = nextDue() {
            let now = now
            let next = owner.fire(at: now)
            // What is due at once, again, waits for the next move: the clock stands still.
            if next < .distantFuture { call(owner, at: max(next, now.advanced(byNanoseconds: 1))) }
        }
    }

    private func nextDue() -> (any Watched)? {
        state.withLock { state in
            while let first = state.appointments.min(by: { $0.value.due < $1.value.due }), first.value.due <= now {
                state.appointments[first.key] = nil
                if let owner = first.value.owner { return owner }
            }
            return nil
        }
    }

    /// Forgets appointments of owners that are gone.
    private func forgetOwners() {
        // The last reference to an owner may end with the list, where no lock is held.
        let owners = state.withLock { state in
            let owners = state.appointments.mapValues(\.owner)
            for (name, owner) in owners where owner == nil { state.appointments[name] = nil }
            return owners
        }
        _ = owners
    }

    func ask(_ keeper: any ServerKeyKeeper) {
        state.withLock { state in
            state.keepers.removeAll { $0.keeper == nil }
            state.keepers.append(Keeper(keeper: keeper))
        }
    }

    // MARK: Sleeping

    var sleeping: Int { state.withLock { $0.sleepers.count } }

    func wait(until instant: MonotonicInstant) async throws {
        let number = state.withLock { $0.next() }
        try await sleep(number) { state, continuation in
            guard now < instant else { return false }
            state.sleepers[number] = Sleeper(deadline: instant, continuation: continuation)
            return true
        } begins: {
            begun.add()
        }
    }

    func pause(for duration: Duration) async throws {
        try await rest(until: running.advanced(by: duration)) { [begun] in begun.add() }
    }

    func rest(for duration: Duration) async throws {
        try await rest(until: running.advanced(by: duration)) {}
    }

    /// Sleeps until the running time is an instant: until the system's clock has brought it there, or a move.
    private func rest(until instant: MonotonicInstant, begins: @escaping @Sendable () -> Void) async throws {
        var begins: @Sendable () -> Void = begins
        while true {
            let (number, count) = state.withLock { ($0.next(), $0.count) }
            let left = running.duration(to: instant)
            guard left > .zero else {
                begins()
                return try Task.checkCancellation()
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Task.pause(for: left) }
                group.addTask { [begins] in
                    try await self.sleep(number) { state, continuation in
                        guard state.count == count else { return false }
                        state.sleepers[number] = Sleeper(deadline: nil, continuation: continuation)
                        return true
                    } begins: {
                        begins()
                    }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
            begins = {}
        }
    }

    /// Suspends until the sleeper with a number is resumed.
    ///
    /// - Parameters:
    ///   - number: Its number.
    ///   - enter: Adds it; returns false when there is nothing to wait for.
    ///   - begins: Called once it sleeps, or need not.
    /// - Throws: `CancellationError`.
    private func sleep(
        _ number: Int,
        _ enter: (inout State, CheckedContinuation<Void, any Error>) -> Bool,
        begins: () -> Void
    ) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let sleeps = state.withLock { enter(&$0, continuation) }
                begins()
                if !sleeps { continuation.resume() } else if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    private func leave(_ number: Int) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
