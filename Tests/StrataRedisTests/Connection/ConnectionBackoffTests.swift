import Strata
import Testing

@testable import StrataRedis

/// One driver that connects.
private final class Asker {}

/// Full jitter: any delay up to a bound that doubles with every attempt that fails.
@Suite("Delays before connecting again")
struct ConnectionBackoffTests {
    private static let lower = Duration.milliseconds(50)
    private static let upper = Duration.seconds(5)

    /// The delays after a loss and then after each of `attempts` that fail.
    private func delays(seed: UInt64, attempts: Int) throws -> [Duration] {
        let rig = try MachineRig.ready(seed: seed) { $0.reconnectDelay = Self.lower...Self.upper }
        rig.advance(by: .seconds(1))
        rig.lost()
        var delays = [try #require(rig.wait)]
        for _ in 0..<attempts {
            #expect(rig.advanceToDeadline() == [.open])
            rig.openFailed()
            delays.append(try #require(rig.wait))
        }
        return delays
    }

    @Test("each delay stays below its bound, and the bounds double up to the longest")
    func bounds() throws {
        let attempts = 12
        var longest = [Duration](repeating: .zero, count: attempts + 1)
        var shortest = [Duration](repeating: Self.upper, count: attempts + 1)
        for seed in 0..<2_000 as Range<UInt64> {
            for (attempt, delay) in try delays(seed: seed, attempts: attempts).enumerated() {
                longest[attempt] = max(longest[attempt], delay)
                shortest[attempt] = min(shortest[attempt], delay)
            }
        }
        for attempt in 0...attempts {
            let bound = min(Self.lower * (1 << attempt), Self.upper)
            // Of 2000 draws from the whole range, one is in its uppermost and one in its lowest twentieth, but for one
            // run in 10^44.
            #expect(longest[attempt] <= bound && longest[attempt] > bound * 0.95, "attempt \(attempt)")
            #expect(shortest[attempt] >= .zero && shortest[attempt] < bound * 0.05, "attempt \(attempt)")
        }
    }

    @Test("connections of a fleet do not come back together")
    func spread() throws {
        let first = try (0..<100 as Range<UInt64>).map { try delays(seed: $0, attempts: 0)[0] }
        #expect(Set(first).count == 100)
        #expect(try delays(seed: 7, attempts: 5) == delays(seed: 7, attempts: 5))
    }

    @Test("a connection that has stood for a while sets the delay back")
    func reset() throws {
        for seed in 0..<50 as Range<UInt64> {
            let rig = try MachineRig.ready(seed: seed) { $0.reconnectDelay = Self.lower...Self.upper }
            rig.lost()
            for _ in 0..<8 {
                rig.advanceToDeadline()
                rig.openFailed()
            }
            rig.advanceToDeadline()
            rig.opened()
            rig.answerHandshake()
            rig.advance(by: .seconds(1))
            rig.lost()
            #expect(try #require(rig.wait) <= Self.lower)
        }
    }

    @Test("connections that are lost as soon as they are made do not: the bounds double as if none had been made")
    func lostAtOnce() throws {
        let losses = 9
        var longest = [Duration](repeating: .zero, count: losses)
        for seed in 0..<1_000 as Range<UInt64> {
            let rig = try MachineRig.ready(seed: seed) { $0.reconnectDelay = Self.lower...Self.upper }
            for loss in 0..<losses {
                rig.advance(by: .milliseconds(999))
                rig.lost()
                let delay = try #require(rig.wait)
                longest[loss] = max(longest[loss], delay)
                #expect(rig.advanceToDeadline() == [.open])
                rig.opened()
                rig.answerHandshake()
            }
        }
        for loss in 0..<losses {
            let bound = min(Self.lower * (1 << (loss + 1)), Self.upper)
            #expect(longest[loss] <= bound && longest[loss] > bound * 0.95, "loss \(loss)")
        }
    }

    @Test("after an early loss calls wait for the next connection; after several in a row they are refused")
    func earlyLosses() throws {
        let rig = try MachineRig.ready()
        for loss in 0..<3 {
            rig.lost()
            try rig.submit(loss)
            rig.advanceToDeadline()
            rig.opened()
            rig.answerHandshake()
            _ = rig.take()
            rig.receive(.null)
            #expect(rig.ending(of: loss) == .reply(.null))
        }
        rig.lost()
        let refusal = #expect(throws: RedisError.self) { try rig.submit(8) }
        #expect(refusal?.code == .connectionLost)
        rig.advanceToDeadline()
        rig.opened()
        rig.answerHandshake()
        try rig.submit(9)
    }

    @Test("a client connects a bounded number of times at once, then five times a second")
    func limit() {
        let limit = ReconnectLimit(burst: 6)
        let asker = Asker()
        let start = MonotonicInstant(nanoseconds: 5_000_000_000_000)
        var now = start
        var begun = 0
        while start.duration(to: now) < .seconds(10) {
            while limit.take(for: asker, at: now) == nil { begun += 1 }
            now = now.advanced(by: .milliseconds(1))
        }
        #expect(begun == 6 + 49)
        // After a rest as many as before.
        now = now.advanced(by: .seconds(60))
        let another = Asker()
        for _ in 0..<6 { #expect(limit.take(for: another, at: now) == nil) }
        #expect(limit.take(for: another, at: now) == now.advanced(by: .milliseconds(200)))
    }

    @Test("who has to wait gets a turn, however often another asks first")
    func turns() {
        let limit = ReconnectLimit(burst: 2)
        let (greedy, patient) = (Asker(), Asker())
        var now = MonotonicInstant(nanoseconds: 5_000_000_000_000)
        var begun = (greedy: 0, patient: 0)
        for _ in 0..<10_000 {
            while limit.take(for: greedy, at: now) == nil { begun.greedy += 1 }
            while limit.take(for: patient, at: now) == nil { begun.patient += 1 }
            now = now.advanced(by: .milliseconds(1))
        }
        #expect(begun.greedy + begun.patient == 2 + 49)
        #expect(begun.patient >= 24)
    }

    @Test("a handshake that fails and a connect that takes too long count as failed attempts")
    func otherFailures() throws {
        var longest = Duration.zero
        for seed in 0..<200 as Range<UInt64> {
            let rig = MachineRig(seed: seed) { $0.reconnectDelay = Self.lower...Self.upper }
            try rig.submit(1)
            rig.advance()
            rig.opened()
            _ = rig.take()
            #expect(rig.receive(.error("LOADING")) == .close)
            rig.advanceToDeadline()
            #expect(rig.advance(by: .milliseconds(500)) == [.close])
            let wait = try #require(rig.wait)
            #expect(wait <= Self.lower * 4)
            longest = max(longest, wait)
        }
        #expect(longest > Self.lower * 2)
    }

    @Test("wrong credentials wait for at least half the upper bound, every time")
    func authentication() throws {
        for seed in 0..<20 as Range<UInt64> {
            let rig = MachineRig(seed: seed) {
                ($0.password, $0.reconnectDelay) = (Secret("pw"), Self.lower...Self.upper)
            }
            try rig.submit(1)
            rig.advance()
            for _ in 0..<3 {
                rig.opened()
                _ = rig.take()
                #expect(rig.receive(.error("WRONGPASS")) == .close)
                let wait = try #require(rig.wait)
                #expect((Self.upper / 2...Self.upper).contains(wait))
                #expect(rig.advanceToDeadline() == [.open])
            }
        }
    }

    @Test("a hundred failures, and bounds at the end of the clock, overflow nothing")
    func extremes() throws {
        for delay in [Self.lower...Self.upper, .nanoseconds(1) ... .seconds(1e19), .seconds(1e19) ... .seconds(1e19)] {
            let rig = MachineRig(seed: 3) { $0.reconnectDelay = delay }
            try rig.submit(1)
            rig.advance()
            rig.openFailed()
            for _ in 0..<100 where rig.wait.map({ $0 < .seconds(1_000_000) }) == true {
                rig.advanceToDeadline()
                rig.openFailed()
            }
            #expect(rig.phase == .waiting)
        }
    }
}
