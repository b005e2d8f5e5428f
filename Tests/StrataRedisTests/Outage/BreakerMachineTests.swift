import Strata
import Testing

@testable import StrataRedis

@Suite("A breaker's states")
struct BreakerMachineTests {
    private static let pause: ClosedRange<Int64> = 100...1_600
    private static let limit: Int64 = 50
    private let machine = Rig(pause: BreakerMachineTests.pause, limit: BreakerMachineTests.limit, seed: 1)
    private var now = MonotonicInstant(nanoseconds: 0)

    /// The machine after it was tripped, and time has come for a probe.
    private mutating func trip() throws {
        #expect(machine.trip(at: now))
        try waitForProbe()
    }

    private mutating func waitForProbe() throws {
        guard case .open(let until) = machine.phase else {
            Issue.record("not open: \(machine.phase)")
            return
        }
        now = until
    }

    @Test("closed it lets everything through, open nothing before its pause is over")
    mutating func whileOpen() throws {
        #expect(machine.admit(at: now) == .pass)
        #expect(machine.trip(at: now))
        #expect(!machine.trip(at: now), "no news")
        guard case .open(let until) = machine.phase else {
            Issue.record("not open")
            return
        }
        #expect((50...100).contains(now.nanoseconds(to: until)))
        #expect(machine.admit(at: until.advanced(byNanoseconds: -1)) == .refused)
        #expect(machine.admit(at: until) == .refusedAndProbe(1))
        #expect(machine.admit(at: until) == .refused, "one probe at a time")
    }

    @Test("an answered probe lets one call through, which closes it")
    mutating func recovery() throws {
        try trip()
        #expect(machine.admit(at: now) == .refusedAndProbe(1))
        machine.probed(1, true, at: now)
        #expect(machine.admit(at: now) == .trial(2))
        #expect(machine.admit(at: now) == .refused, "one trial at a time")
        #expect(machine.tried(2, .good, at: now))
        #expect(machine.admit(at: now) == .pass)
    }

    @Test("the pause doubles with each probe and each trial that fails, up to the longest")
    mutating func doubling() throws {
        try trip()
        var bound: Int64 = 100
        for attempt in 1..<20 as Range<UInt64> {
            if attempt.isMultiple(of: 2) {
                #expect(machine.admit(at: now) == .refusedAndProbe(attempt))
                machine.probed(attempt, false, at: now)
            } else {
                machine.returned()
                #expect(machine.admit(at: now) == .trial(attempt))
                #expect(!machine.tried(attempt, .bad, at: now))
            }
            bound = min(2 * bound, 1_600)
            guard case .open(let until) = machine.phase else {
                Issue.record("not open")
                return
            }
            #expect((bound / 2...bound).contains(now.nanoseconds(to: until)), "attempt \(attempt)")
            now = until
        }
    }

    @Test("a probe or a trial that never ends gives way to another")
    mutating func hanging() throws {
        try trip()
        #expect(machine.admit(at: now) == .refusedAndProbe(1))
        now = now.advanced(byNanoseconds: Self.limit)
        #expect(machine.admit(at: now) == .refused)
        machine.probed(1, true, at: now)
        try waitForProbe()
        #expect(machine.admit(at: now) == .refusedAndProbe(2))
        machine.probed(1, true, at: now)
        #expect(machine.admit(at: now) == .refused, "the answer was to an earlier probe")
        machine.probed(2, true, at: now)
        #expect(machine.admit(at: now) == .trial(3))
        now = now.advanced(byNanoseconds: Self.limit)
        #expect(machine.admit(at: now) == .refused)
        #expect(!machine.tried(3, .good, at: now), "too late")
    }

    @Test("a trial whose caller leaves decides nothing: the next call does")
    mutating func abandonedTrial() throws {
        try trip()
        machine.returned()
        #expect(machine.admit(at: now) == .trial(1))
        #expect(!machine.tried(1, .none, at: now))
        #expect(machine.admit(at: now) == .trial(2))
        #expect(machine.tried(2, .good, at: now))
    }

    @Test("a connection that comes back spares the pause; a closed breaker does not care")
    mutating func comesBack() {
        machine.returned()
        #expect(machine.admit(at: now) == .pass)
        #expect(machine.trip(at: now))
        machine.returned()
        #expect(machine.admit(at: now) == .trial(1))
        machine.returned()
        #expect(machine.admit(at: now) == .refused, "a trial is under way")
    }

    /// What every state has to keep, by the events alone.
    @Test("at no time more than one probe or trial, and only a good trial closes it", arguments: 0..<200)
    func random(round: Int) {
        var random = SplitMix64(seed: UInt64(round))
        let machine = Rig(pause: Self.pause, limit: Self.limit, seed: UInt64(round))
        var now = MonotonicInstant(nanoseconds: 0)
        var isClosed = true
        /// The attempt under way, whether it is a trial, and until when.
        var attempt: (number: UInt64, isTrial: Bool, until: MonotonicInstant)?
        for _ in 0..<500 {
            now = now.advanced(byNanoseconds: Int64.random(in: 0...80, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                #expect(machine.trip(at: now) == isClosed)
                isClosed = false
            case 1: machine.returned()
            case 2, 3:
                switch machine.admit(at: now) {
                case .pass: #expect(isClosed)
                case .refused: #expect(!isClosed)
                case .trial(let number), .refusedAndProbe(let number):
                    #expect(!isClosed)
                    if let attempt { #expect(number > attempt.number) }
                    var isTrial = false
                    if case .trying = machine.phase { isTrial = true }
                    if let attempt, attempt.isTrial { #expect(now >= attempt.until, "two trials, seed \(round)") }
                    attempt = (number, isTrial, now.advanced(byNanoseconds: Self.limit))
                }
            case 4:
                guard let ended = attempt, !ended.isTrial else { continue }
                machine.probed(ended.number, Bool.random(using: &random), at: now)
                attempt = nil
            default:
                guard let ended = attempt, ended.isTrial else { continue }
                let verdict = [BreakerMachine.Verdict.good, .bad, .none].randomElement(using: &random) ?? .none
                if machine.tried(ended.number, verdict, at: now) {
                    #expect(verdict == .good)
                    isClosed = true
                }
                attempt = nil
            }
        }
    }
}

/// A machine whose steps may be taken within an expectation.
private final class Rig {
    private var machine: BreakerMachine

    init(pause: ClosedRange<Int64>, limit: Int64, seed: UInt64) {
        machine = BreakerMachine(pause: pause, limit: limit, seed: seed)
    }

    var phase: BreakerMachine.Phase { machine.phase }
    func admit(at now: MonotonicInstant) -> BreakerMachine.Admission { machine.admit(at: now) }
    func trip(at now: MonotonicInstant) -> Bool { machine.trip(at: now) }
    func probed(_ number: UInt64, _ answered: Bool, at now: MonotonicInstant) {
        machine.probed(number, answered, at: now)
    }
    func tried(_ number: UInt64, _ verdict: BreakerMachine.Verdict, at now: MonotonicInstant) -> Bool {
        machine.tried(number, verdict, at: now)
    }
    func returned() { machine.returned() }
}
