internal import Logging
internal import Strata
internal import Synchronization

/// Lets a cache's calls of one role through to Redis, or refuses them at once while the server does not serve that
/// role.
///
/// A call costs one atomic load before and one count after it while the breaker is closed, and an atomic load and a
/// coarse clock reading while it is open.
final class CircuitBreaker: Sendable {
    /// A call that may be made.
    enum Pass: Sendable {
        /// How often the breaker had closed before: outcomes from before the last outage count no more.
        case ordinary(generation: UInt64)
        case trial(UInt64)
    }

    /// A refused call; the caller sends a probe, if a number is given.
    struct Refusal: Error {
        let probe: UInt64?
    }

    enum Outcome: Sendable {
        /// The server has answered, with any reply.
        case answered
        /// The server is to blame.
        case failed
        /// Unknown: the call was cancelled.
        case unknown
    }

    private let role: RedisRole
    private let terms: Adjustable<CallTerms>
    private let logger: Logger?
    private let endpoint: String
    private let events: EventHub
    private let counts: BreakerRecord.Counts
    private let window: OutcomeWindow
    private let machine: Locked<BreakerMachine>
    /// Zero while the breaker is closed, otherwise when to ask the machine again.
    private let refusesUntil = Atomic<Int64>(0)
    private let generation = Atomic<UInt64>(0)
    /// Failures since the last success: they reveal a server that hangs after a busy time.
    private let streak = Atomic<Int>(0)

    init(
        _ role: RedisRole,
        _ terms: Adjustable<CallTerms>,
        endpoint: String,
        logger: Logger?,
        _ record: BreakerRecord = BreakerRecord()
    ) {
        self.role = role
        events = record.events
        counts = record.counts(of: role)
        self.terms = terms
        self.logger = logger
        self.endpoint = endpoint
        let now = terms.value
        window = OutcomeWindow(window: now.window)
        machine = Locked(BreakerMachine(pause: now.pause, limit: now.probeLimit, seed: .random(in: 0 ... .max)))
    }

    /// How long a call that succeeds may take without being slow, in nanoseconds.
    var slowAfter: Int64 { terms.value.slowAfter }

    /// Runs a step of the machine, by the terms that are in force.
    private func step<Result>(_ body: (inout BreakerMachine) -> Result) -> Result {
        let terms = terms.value
        return machine.withLock { machine in
            machine.pause = terms.pause
            machine.limit = terms.probeLimit
            defer { mirror(machine.phase) }
            return body(&machine)
        }
    }

    /// The state at a time, and what was counted.
    ///
    /// Nothing looks at an open breaker whose role is not used: after its pause nothing is refused but the call that
    /// sends the probe.
    func statistics(at now: MonotonicInstant) -> OutageStatistics.Breaker {
        let phase = machine.withLock { $0.phase }
        let state: OutageStatistics.Breaker.State =
            switch phase {
            case .closed: .closed
            case .open(let until) where until <= now: .halfOpen
            case .open, .probing: .open
            case .ready, .trying: .halfOpen
            }
        return OutageStatistics.Breaker(
            state: state,
            openings: counts.openings.load(ordering: .relaxed),
            refusals: counts.refusals.load(ordering: .relaxed)
        )
    }

    /// Whether a call may be made.
    @inline(__always)
    func enter(at now: MonotonicInstant) throws(Refusal) -> Pass {
        let until = refusesUntil.load(ordering: .acquiring)
        guard until != 0 else { return .ordinary(generation: generation.load(ordering: .relaxed)) }
        guard now.nanoseconds >= until else {
            counts.refusals.wrappingAdd(1, ordering: .relaxed)
            throw Refusal(probe: nil)
        }
        return try ask(at: now)
    }

    private func ask(at now: MonotonicInstant) throws(Refusal) -> Pass {
        let admission = step { $0.admit(at: now) }
        switch admission {
        case .pass: return .ordinary(generation: generation.load(ordering: .relaxed))
        case .trial(let number): return .trial(number)
        case .refused, .refusedAndProbe:
            counts.refusals.wrappingAdd(1, ordering: .relaxed)
            guard case .refusedAndProbe(let number) = admission else { throw Refusal(probe: nil) }
            throw Refusal(probe: number)
        }
    }

    /// A call has ended.
    ///
    /// - Parameters:
    ///   - pass: The pass of the call.
    ///   - outcome: Its outcome.
    ///   - duration: How long it took, in nanoseconds.
    ///   - now: The time.
    @inline(__always)
    func leave(_ pass: Pass, _ outcome: Outcome, after duration: Int64, at now: MonotonicInstant) {
        guard case .ordinary(let generation) = pass else { return decide(pass, outcome, after: duration, at: now) }
        guard outcome == .answered, duration < slowAfter else { return complain(generation, outcome, at: now) }
        window.count(.good, at: now)
        if streak.load(ordering: .relaxed) != 0 { streak.store(0, ordering: .relaxed) }
    }

    private func complain(_ generation: UInt64, _ outcome: Outcome, at now: MonotonicInstant) {
        guard outcome != .unknown, generation == self.generation.load(ordering: .relaxed) else { return }
        let terms = terms.value
        window.resize(terms.window)
        window.count(outcome == .failed ? .failed : .slow, at: now)
        if outcome != .failed { streak.store(0, ordering: .relaxed) }
        let inARow = outcome == .failed ? streak.wrappingAdd(1, ordering: .relaxed).newValue : 0
        let counts = window.counts(at: now)
        let isRow = inARow >= max(1, terms.breaker.minimumCalls) && terms.breaker.failureShare <= 1
        guard isRow || terms.breaker.isReason(counts) else { return }
        guard step({ $0.trip(at: now) }) else { return }
        self.counts.openings.wrappingAdd(1, ordering: .relaxed)
        tell(.circuitOpened)
        log(
            "Redis is not asked for the time being",
            ["calls": "\(counts.total)", "failed": "\(counts.failed)", "slow": "\(counts.slow)"]
        )
    }

    private func decide(_ pass: Pass, _ outcome: Outcome, after duration: Int64, at now: MonotonicInstant) {
        guard case .trial(let number) = pass else { return }
        let verdict: BreakerMachine.Verdict =
            switch outcome {
            case .answered: duration < slowAfter ? .good : .bad
            case .failed: .bad
            case .unknown: .none
            }
        conclude { $0.tried(number, verdict, at: now) }
    }

    /// The server has served the role, by a call that did not pass the breaker.
    ///
    /// That decides as a trial call does.
    func proved() {
        guard refusesUntil.load(ordering: .acquiring) != 0 else { return }
        conclude { $0.proved() }
    }

    /// Runs a step that may close the breaker.
    private func conclude(_ decide: (inout BreakerMachine) -> Bool) {
        let isClosed = step { machine in
            let isClosed = decide(&machine)
            if isClosed {
                window.clear()
                streak.store(0, ordering: .relaxed)
                generation.wrappingAdd(1, ordering: .relaxed)
            }
            return isClosed
        }
        guard isClosed else { return }
        tell(.circuitClosed)
        log("Redis is asked again", [:])
    }

    private func tell(_ kind: CacheEvent.Kind) {
        events.tell(kind) { CacheEvent($0, at: .redis, detail: "\(role.rawValue) at \(endpoint)") }
    }

    /// A probe has ended.
    func probed(_ number: UInt64, _ answered: Bool, at now: MonotonicInstant) {
        step { $0.probed(number, answered, at: now) }
    }

    /// The server is there again: a connection was made.
    func returned() {
        guard refusesUntil.load(ordering: .acquiring) != 0 else { return }
        step { $0.returned() }
    }

    /// Under the machine's lock.
    private func mirror(_ phase: BreakerMachine.Phase) {
        let until: MonotonicInstant =
            switch phase {
            case .closed: MonotonicInstant(nanoseconds: 0)
            case .open(let until), .probing(let until), .trying(let until): until
            case .ready: .distantPast
            }
        refusesUntil.store(until.nanoseconds, ordering: .releasing)
    }

    private func log(_ message: Logger.Message, _ metadata: Logger.Metadata) {
        guard let logger else { return }
        let place: Logger.Metadata = ["redis.endpoint": "\(endpoint)", "redis.role": "\(role.rawValue)"]
        logger.notice(message, metadata: place.merging(metadata) { $1 })
    }
}
