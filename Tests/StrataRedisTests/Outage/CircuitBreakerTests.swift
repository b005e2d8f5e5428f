import Logging
import Strata
import StrataTestSupport
import Testing

@testable import StrataRedis

extension CircuitBreaker {
    /// As long as no pause is over.
    var statistics: OutageStatistics.Breaker { statistics(at: .distantPast) }
}

@Suite("A breaker and what it counts")
struct CircuitBreakerTests {
    private static let second: Int64 = 1_000_000_000
    private let log = LogRecorder()

    private func breaker(_ adjust: (inout BreakerOptions) -> Void = { _ in }) -> CircuitBreaker {
        var options = BreakerOptions(window: .seconds(16), minimumCalls: 10, pause: .seconds(1) ... .seconds(8))
        adjust(&options)
        let terms = Adjustable(CallTerms(options, budget: .seconds(1), .seconds(1)))
        return CircuitBreaker(.read, terms, endpoint: "somewhere", logger: log.logger)
    }

    private func instant(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64((1_000 + seconds) * Double(Self.second)))
    }

    private func call(
        _ breaker: CircuitBreaker,
        _ outcome: CircuitBreaker.Outcome,
        lasting milliseconds: Int64 = 1,
        at seconds: Double
    ) throws {
        let pass = try breaker.enter(at: instant(seconds))
        breaker.leave(pass, outcome, after: milliseconds * 1_000_000, at: instant(seconds))
    }

    @Test("observers are told when it opens and closes, each once")
    func told() throws {
        let record = BreakerRecord()
        let told = Locked<[CacheEvent]>([])
        _ = record.events.add([.circuitOpened, .circuitClosed]) { event in told.withLock { $0.append(event) } }
        let options = BreakerOptions(window: .seconds(16), minimumCalls: 2, pause: .seconds(1) ... .seconds(8))
        let terms = Adjustable(CallTerms(options, budget: .seconds(1), .seconds(1)))
        let breaker = CircuitBreaker(.lease, terms, endpoint: "somewhere", logger: nil, record)
        for _ in 0..<2 { try call(breaker, .failed, at: 0) }
        breaker.proved()
        breaker.proved()
        let events = told.withLock { $0 }
        #expect(events.map(\.kind) == [.circuitOpened, .circuitClosed])
        #expect(events.allSatisfy { $0.level == .redis && $0.detail == "lease at somewhere" })
    }

    @Test("a share above one means never, however many fail in a row")
    func never() throws {
        let (without, with) = (breaker { $0.failureShare = 1.1 }, breaker { $0.failureShare = 1 })
        for number in 0..<100 { try call(without, .failed, at: Double(number) / 100) }
        #expect(without.statistics.state == .closed)
        for _ in 0..<10 { try call(with, .failed, at: 0) }
        #expect(with.statistics.state == .open)
    }

    @Test("those of a cluster's nodes are counted together, also of nodes that have left")
    func countedTogether() throws {
        let record = BreakerRecord()
        let options = BreakerOptions(window: .seconds(16), minimumCalls: 2, pause: .seconds(1) ... .seconds(8))
        let terms = Adjustable(CallTerms(options, budget: .seconds(1), .seconds(1)))
        func node(_ role: RedisRole) -> CircuitBreaker {
            CircuitBreaker(role, terms, endpoint: "somewhere", logger: nil, record)
        }
        for _ in 0..<2 {
            let left = node(.lease)
            for _ in 0..<2 { try call(left, .failed, at: 0) }
            #expect(throws: CircuitBreaker.Refusal.self) { try call(left, .failed, at: 0) }
            #expect(left.statistics.state == .open)
        }
        #expect(node(.lease).statistics == .init(state: .closed, openings: 2, refusals: 2))
        #expect(node(.read).statistics == .init(state: .closed, openings: 0, refusals: 0))
    }

    /// One case: calls before the last one, which is expected to decide.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let good: Int
        let failed: Int
        let slow: Int
        var unknown = 0
        let opens: Bool
        var testDescription: String { name }
    }

    @Test(
        "the share of failed and of slow calls decides, from a least number of calls on",
        arguments: [
            Row(name: "too few", good: 0, failed: 9, slow: 0, opens: false),
            Row(name: "enough", good: 0, failed: 10, slow: 0, opens: true),
            Row(name: "half", good: 10, failed: 10, slow: 0, opens: true),
            Row(name: "less than half", good: 11, failed: 10, slow: 0, opens: false),
            Row(name: "slow", good: 2, failed: 0, slow: 8, opens: true),
            Row(name: "less slow", good: 3, failed: 0, slow: 8, opens: false),
            Row(name: "failed and slow are judged apart", good: 4, failed: 5, slow: 5, opens: false),
            Row(name: "cancelled calls are none", good: 0, failed: 9, slow: 0, unknown: 50, opens: false),
        ]
    )
    func shares(row: Row) throws {
        let breaker = breaker()
        // Failures that follow each other are another matter.
        let apart = min(row.good, row.failed)
        for _ in 0..<row.good - apart { try call(breaker, .answered, at: 0) }
        for _ in 0..<row.unknown { try call(breaker, .unknown, lasting: 1_000, at: 0) }
        for _ in 0..<row.slow { try call(breaker, .answered, lasting: 250, at: 0) }
        for number in 0..<row.failed {
            guard breaker.statistics.state == .closed else { break }
            if number < apart { try call(breaker, .answered, at: 0) }
            try call(breaker, .failed, at: 0)
        }
        #expect((breaker.statistics.state == .open) == row.opens)
    }

    @Test("what is older than the window counts no more")
    func window() throws {
        let breaker = breaker()
        for _ in 0..<9 { try call(breaker, .failed, at: 0) }
        try call(breaker, .answered, at: 16.5)
        try call(breaker, .failed, at: 17)
        #expect(breaker.statistics.state == .closed)
        for _ in 0..<7 { try call(breaker, .failed, at: 20) }
        #expect(breaker.statistics.state == .closed)
        try call(breaker, .failed, at: 21)
        #expect(breaker.statistics.state == .open)
    }

    @Test("failures in a row open it, however much has succeeded before")
    func streak() throws {
        let breaker = breaker()
        for _ in 0..<1_000 { try call(breaker, .answered, at: 0) }
        for _ in 0..<9 { try call(breaker, .failed, at: 0) }
        try call(breaker, .answered, at: 0)
        for _ in 0..<9 { try call(breaker, .failed, at: 0) }
        try call(breaker, .answered, lasting: 300, at: 0)
        for _ in 0..<9 { try call(breaker, .failed, at: 0) }
        #expect(breaker.statistics.state == .closed)
        try call(breaker, .failed, at: 0)
        #expect(breaker.statistics.state == .open)
    }

    @Test("from open to closed: refused at once, a probe, a trial; one line for each change")
    func cycle() throws {
        let breaker = breaker()
        for _ in 0..<10 { try call(breaker, .failed, at: 0) }
        #expect(throws: CircuitBreaker.Refusal.self) { try breaker.enter(at: instant(0.4)) }
        let refusal = #expect(throws: CircuitBreaker.Refusal.self) { try breaker.enter(at: instant(1)) }
        let number = try #require(refusal?.probe)
        breaker.probed(number, false, at: instant(1))
        let second = #expect(throws: CircuitBreaker.Refusal.self) { try breaker.enter(at: instant(3)) }
        breaker.probed(try #require(second?.probe), true, at: instant(3))
        #expect(breaker.statistics.state == .halfOpen)
        let trial = try breaker.enter(at: instant(3))
        #expect(throws: CircuitBreaker.Refusal.self) { try breaker.enter(at: instant(3)) }
        breaker.leave(trial, .answered, after: 1, at: instant(3))
        #expect(breaker.statistics == .init(state: .closed, openings: 1, refusals: 4))
        try call(breaker, .failed, at: 3)
        #expect(breaker.statistics.state == .closed, "what was before is forgotten")
        #expect(
            log.lines.map(\.text) == [
                "Redis is not asked for the time being calls=10 failed=10 redis.endpoint=somewhere redis.role=read slow=0",
                "Redis is asked again redis.endpoint=somewhere redis.role=read",
            ]
        )
    }

    @Test("open is said as long as calls are refused: after its pause a breaker that is not asked is half open")
    func idle() throws {
        let breaker = breaker()
        for _ in 0..<10 { try call(breaker, .failed, at: 0) }
        #expect(breaker.statistics(at: instant(0.4)).state == .open)
        #expect(breaker.statistics(at: instant(1)).state == .halfOpen)
        let refusal = #expect(throws: CircuitBreaker.Refusal.self) { try breaker.enter(at: instant(1)) }
        #expect(breaker.statistics(at: instant(1)).state == .open)
        breaker.probed(try #require(refusal?.probe), false, at: instant(1))
        #expect(breaker.statistics(at: instant(1)).state == .open)
        #expect(breaker.statistics(at: instant(3)).state == .halfOpen)
    }

    @Test("calls that were let through before an outage and fail after it decide nothing")
    func lateFailures() throws {
        let breaker = breaker()
        let late = try (0..<50).map { _ in try breaker.enter(at: instant(0)) }
        for _ in 0..<10 { try call(breaker, .failed, at: 0) }
        breaker.returned()
        try call(breaker, .answered, at: 1)
        #expect(breaker.statistics.state == .closed)
        for pass in late { breaker.leave(pass, .failed, after: 1, at: instant(1)) }
        #expect(breaker.statistics.state == .closed)
    }

    @Test("a trial that is answered late, or not at all, opens it again; one whose caller left decides nothing")
    func badTrials() throws {
        for (outcome, milliseconds) in [(CircuitBreaker.Outcome.answered, Int64(250)), (.failed, 1)] {
            let breaker = breaker()
            for _ in 0..<10 { try call(breaker, .failed, at: 0) }
            breaker.returned()
            try call(breaker, outcome, lasting: milliseconds, at: 1)
            #expect(breaker.statistics.state == .open)
        }
        let breaker = breaker()
        for _ in 0..<10 { try call(breaker, .failed, at: 0) }
        breaker.returned()
        try call(breaker, .unknown, lasting: 250, at: 1)
        #expect(breaker.statistics.state == .halfOpen)
        try call(breaker, .answered, at: 1)
        #expect(breaker.statistics.state == .closed)
    }

    @Test("the window counts what a list counts")
    func windowModel() {
        var random = SplitMix64.announced()
        for _ in 0..<50 {
            let window = OutcomeWindow(window: 1_600)
            var events: [(slot: Int64, outcome: OutcomeWindow.Outcome)] = []
            var now = MonotonicInstant(nanoseconds: Int64.random(in: 0...10_000, using: &random))
            for _ in 0..<400 {
                now = now.advanced(
                    byNanoseconds: random.once(in: 50) ? 3_000 : Int64.random(in: 0...60, using: &random)
                )
                let outcome = [OutcomeWindow.Outcome.good, .failed, .slow].randomElement(using: &random) ?? .good
                window.count(outcome, at: now)
                let slot = now.nanoseconds / 100
                events.append((slot, outcome))
                events.removeAll { $0.slot <= slot - 16 }
                let expected = OutcomeWindow.Counts(
                    total: events.count,
                    failed: events.count { $0.outcome == .failed },
                    slow: events.count { $0.outcome == .slow }
                )
                #expect(window.counts(at: now) == expected)
            }
            window.clear()
            #expect(window.counts(at: now) == .init())
        }
    }

    @Test("which errors are the server's")
    func blame() {
        func reply(_ text: String) -> RedisError { .reply(text, endpoint: nil) }
        let states = [
            "LOADING Redis is loading the dataset in memory", "BUSY Redis is busy",
            "MASTERDOWN Link with MASTER is down",
            "READONLY You can't write against a read only replica.", "OOM command not allowed", "MISCONF Redis is",
            "CLUSTERDOWN The cluster is down", "NOREPLICAS Not enough", "NOAUTH Authentication required.",
            "ERR max number of clients reached", "TRYAGAIN Multiple keys",
            "MOVED 866 127.0.0.1:7001", "ASK 866 127.0.0.1:7001", "NOPERM this user", "NOSCRIPT No matching",
            "ERR unknown command", "",
        ]
        for text in states { #expect(reply(text).blamesServer, "\(text)") }
        for text in [
            "WRONGTYPE Operation",
            "ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation against a key",
        ] {
            #expect(!reply(text).blamesServer, "\(text)")
        }
        // What a script or a function has done before stays.
        for place in ["@user_script:1.", "on @user_function:12."] {
            #expect(RedisError.isOfScript("NOPERM this user has no permissions script: f, \(place)"))
        }
        let codes: [(RedisError.Code, Bool)] = [
            (.connectionFailed, true), (.connectionLost, true), (.timeout, true), (.protocolViolation, true),
            (.authentication, true), (.overloaded, false), (.shutDown, false), (.circuitOpen, false),
            (.budgetSpent, false), (.invalidArgument, false), (.unexpectedReply, false), (.tooManyRedirects, true),
        ]
        for (code, expected) in codes {
            #expect(RedisError(code: code, message: "").blamesServer == expected, "\(code)")
        }
        // As with a slot that no node serves, a removal is kept and repeated.
        #expect(RedisError(code: .tooManyRedirects, message: "").isOfOutage)
    }

    @Test("what succeeds although the breaker stands before it closes it, in any phase")
    func proved() throws {
        let terms = Adjustable(CallTerms(BreakerOptions(minimumCalls: 1), budget: .seconds(1), .seconds(1)))
        let breaker = CircuitBreaker(.remove, terms, endpoint: "test", logger: nil)
        let now = MonotonicInstant(nanoseconds: 5_000_000_000_000)
        for isBack in [false, true] {
            breaker.leave(try breaker.enter(at: now), .failed, after: 1, at: now)
            if isBack { breaker.returned() }
            #expect(breaker.statistics.state == (isBack ? .halfOpen : .open))
            breaker.proved()
            #expect(breaker.statistics.state == .closed)
        }
    }
}
