import Testing

@testable import Strata

@Suite("The timer wheel")
struct TimerWheelTests {
    @Test("Nothing comes early, and nothing more than two ticks late, beside a plain list", arguments: 0..<4)
    func model(number: Int) {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of TimerWheelTests.model: \(seed)")
        var random = TestRandom(seed: seed)
        let tick: Int64 = 1 << 26
        var now: Int64 = 5_000_000_000
        var wheel = TimerWheel(now: now)
        var deadlines: [UInt32: Int64] = [:]
        for step in 0..<1500 {
            let slot = UInt32.random(in: 1...200, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                // From now to years, evenly over the magnitudes.
                let magnitude = Int64.random(in: 20...55, using: &random)
                let deadline = now + Int64.random(in: 0...(1 << magnitude), using: &random)
                wheel.schedule(slot, at: deadline)
                deadlines[slot] = deadline
            case 5:
                wheel.cancel(slot)
                deadlines[slot] = nil
            default:
                now += Int64.random(in: 0...(1 << Int64.random(in: 20...50, using: &random)), using: &random)
                #expect(deadlines.values.allSatisfy { $0 >= wheel.nextLook - tick || wheel.nextLook <= now })
                var due: [UInt32] = []
                wheel.expire(upTo: now, most: .max, into: &due)
                for slot in due {
                    #expect((deadlines[slot] ?? .max) <= now, "slot \(slot) came early in step \(step)")
                    deadlines[slot] = nil
                }
                let late = deadlines.values.filter { $0 + 2 * tick < now }
                #expect(late.isEmpty, "\(late.count) are late in step \(step)")
            }
            #expect(wheel.count == deadlines.count)
            wheel.checkInvariants()
        }
    }

    @Test("It takes out no more than it is asked for, and the rest next time")
    func bounded() {
        var wheel = TimerWheel(now: 0)
        for slot in 1...100 { wheel.schedule(UInt32(slot), at: 1) }
        var due: [UInt32] = []
        wheel.expire(upTo: 1 << 40, most: 30, into: &due)
        #expect(due.count == 30)
        wheel.expire(upTo: 1 << 40, most: 1000, into: &due)
        #expect(Set(due) == Set(1...100))
        #expect(wheel.nextLook == .max)
    }

    @Test("What was moved down from a bucket does not hide the rest of it")
    func halfDone() {
        let tick: Int64 = 1 << 26
        var wheel = TimerWheel(now: 0)
        wheel.schedule(1, at: 123 * tick)
        for slot in 2...41 { wheel.schedule(UInt32(slot), at: 63 * tick) }
        var due: [UInt32] = []
        wheel.expire(upTo: 63 * tick, most: 32, into: &due)
        wheel.checkInvariants()
        wheel.expire(upTo: 64 * tick, most: 1000, into: &due)
        #expect(due.sorted() == Array(2...41))
        #expect(wheel.nextLook > 100 * tick)
        wheel.expire(upTo: 124 * tick, most: 1000, into: &due)
        #expect(due.count == 41 && wheel.nextLook == .max)
    }

    @Test("Taking out few at a time, nothing is late while there is time for all of it, beside a plain list")
    func steps() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of TimerWheelTests.steps: \(seed)")
        var random = TestRandom(seed: seed)
        let tick: Int64 = 1 << 26
        var wheel = TimerWheel(now: 0)
        var deadlines: [UInt32: Int64] = [:]
        var slot: UInt32 = 0
        // Forty a tick come and go, and sixty-four a tick may go.
        for step in 1...12_000 {
            let now = Int64(step) * tick
            if step < 6_000 {
                for _ in 0..<40 {
                    slot += 1
                    let deadline = now + Int64.random(in: 3_000...4_500, using: &random) * tick
                    wheel.schedule(slot, at: deadline)
                    deadlines[slot] = deadline
                }
            }
            var due: [UInt32] = []
            wheel.expire(upTo: now, most: 64, into: &due)
            for slot in due {
                let late = now - (deadlines.removeValue(forKey: slot) ?? 0)
                #expect(late >= 0 && late < 64 * tick, "\(late / tick) ticks late in step \(step)")
            }
        }
        #expect(deadlines.isEmpty && wheel.count == 0)
        wheel.checkInvariants()
    }

    @Test("What lies beyond all wheels, or before the start, is handled")
    func extremes() {
        var wheel = TimerWheel(now: .max - 5)
        wheel.schedule(1, at: .max)
        wheel.schedule(2, at: .min)
        wheel.checkInvariants()
        var due: [UInt32] = []
        var early = TimerWheel(now: .min)
        early.schedule(1, at: .max)
        early.schedule(2, at: .min)
        early.expire(upTo: .max, most: 10, into: &due)
        #expect(due.contains(2))
        early.removeAll()
        #expect(early.count == 0)
        early.checkInvariants()
    }

    @Test("with more slots than were expected it grows by parts of its size, and not slot by slot")
    func growth() {
        var wheel = TimerWheel(now: 0, expected: 10)
        var sizes: Set<Int> = []
        for slot in 1...20_000 {
            wheel.schedule(UInt32(slot), at: 1 << 40)
            sizes.insert(wheel.links.count)
        }
        #expect(sizes.count < 30)
        wheel.checkInvariants()
    }
}
