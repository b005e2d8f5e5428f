internal import Strata

/// A breaker without its counters and its probe: calls, outcomes and time in, decisions out.
///
/// ```text
///            too many failures            a call after the pause
///   closed ───────────────────▶ open ───────────────────────▶ probing
///     ▲                          ▲ ▲  no answer, or not in time  │ │
///     │                          │ └─────────────────────────────┘ │ answered
///     │ succeeded         failed │                                 ▼
///     └──────────────────────── trying ◀──────────────────────── ready
///                                              the next call
/// ```
///
/// The probe is a PING in the background, so no caller pays for finding out that a server is still dead. When it is
/// answered, a single trial call passes, because a PING says nothing about a replica that does not write, or a server
/// without memory. Both have a deadline; when it passes without an outcome the breaker is open again.
struct BreakerMachine: Sendable {
    enum Phase: Equatable, Sendable {
        case closed
        case open(until: MonotonicInstant)
        case probing(until: MonotonicInstant)
        case ready
        case trying(until: MonotonicInstant)
    }

    /// Whether a call may be made.
    enum Admission: Equatable, Sendable {
        case pass
        /// The call is the trial that decides.
        case trial(UInt64)
        case refused
        /// The call is refused, and the caller sends a probe in the background.
        case refusedAndProbe(UInt64)
    }

    /// The outcome of the trial.
    enum Verdict: Sendable {
        case good
        case bad
        /// None: the caller has left.
        case none
    }

    /// Bounds of the pause before a probe, in nanoseconds.
    var pause: ClosedRange<Int64>
    /// How long a probe or a trial may take, in nanoseconds.
    var limit: Int64
    private var random: SplitMix64
    private(set) var phase = Phase.closed
    /// The number of the running probe or trial, or of the last one.
    private var attempt: UInt64 = 0
    /// How many attempts have failed in a row.
    private var failures = 0

    /// - Parameters:
    ///   - pause: Bounds of the pause before a probe, in nanoseconds.
    ///   - limit: How long a probe or a trial may take, in nanoseconds.
    ///   - seed: For the jitter.
    init(pause: ClosedRange<Int64>, limit: Int64, seed: UInt64) {
        self.pause = pause
        self.limit = limit
        random = SplitMix64(seed: seed)
    }

    mutating func admit(at now: MonotonicInstant) -> Admission {
        switch phase {
        case .closed: return .pass
        case .ready:
            attempt += 1
            phase = .trying(until: now.advanced(byNanoseconds: limit))
            return .trial(attempt)
        case .open(let until) where now >= until:
            attempt += 1
            phase = .probing(until: now.advanced(byNanoseconds: limit))
            return .refusedAndProbe(attempt)
        case .probing(let until) where now >= until, .trying(let until) where now >= until:
            open(at: now)
            return .refused
        case .open, .probing, .trying: return .refused
        }
    }

    /// Too many calls have failed.
    ///
    /// - Returns: Whether the breaker opened now.
    mutating func trip(at now: MonotonicInstant) -> Bool {
        guard phase == .closed else { return false }
        failures = 0
        open(at: now)
        return true
    }

    /// A probe has ended.
    mutating func probed(_ number: UInt64, _ answered: Bool, at now: MonotonicInstant) {
        guard case .probing = phase, number == attempt else { return }
        if answered { phase = .ready } else { open(at: now) }
    }

    /// The trial has ended.
    ///
    /// - Returns: Whether the breaker is closed now.
    mutating func tried(_ number: UInt64, _ verdict: Verdict, at now: MonotonicInstant) -> Bool {
        guard case .trying = phase, number == attempt else { return false }
        switch verdict {
        case .good:
            phase = .closed
            failures = 0
            return true
        case .bad: open(at: now)
        case .none: phase = .ready
        }
        return false
    }

    /// The server is there again: the next call decides, without a probe.
    mutating func returned() {
        switch phase {
        case .open, .probing: phase = .ready
        case .closed, .ready, .trying: break
        }
    }

    /// A call that did not pass the breaker has succeeded.
    ///
    /// - Returns: Whether the breaker is closed now, and was not before.
    mutating func proved() -> Bool {
        guard phase != .closed else { return false }
        phase = .closed
        failures = 0
        return true
    }

    private mutating func open(at now: MonotonicInstant) {
        let (doubled, overflow) = pause.lowerBound.multipliedReportingOverflow(by: 1 << min(failures, 30))
        let whole = overflow ? pause.upperBound : min(pause.upperBound, doubled)
        failures += 1
        phase = .open(until: now.advanced(byNanoseconds: Int64.random(in: whole / 2...whole, using: &random)))
    }
}
