import Strata
import Testing

@testable import StrataRedis

@Suite("Which mode of tracking costs the server less")
struct TrackingChoiceTests {
    private typealias Rates = TrackingChoice.Rates

    /// Judges rates as often as a choice needs, an interval after the other.
    private func judge(_ choice: inout TrackingChoice, _ rates: Rates, at now: inout MonotonicInstant) -> Bool? {
        var chosen: Bool?
        for _ in 0..<TrackingChoice.judgements {
            #expect(chosen == nil)
            now = now.advanced(by: .seconds(10))
            chosen = choice.judge(rates, at: now)
        }
        return chosen
    }

    @Test("many changes of what was not read: single keys, after two judgements one after the other")
    func unheld() {
        var choice = TrackingChoice()
        var now = MonotonicInstant.now
        let many = Rates(told: 1_000, held: 10, read: 20)
        for _ in 0..<5 {
            #expect(choice.judge(many, at: now) == nil)
            #expect(choice.judge(Rates(told: 1_000, held: 500, read: 500), at: now) == nil)
        }
        #expect(!choice.tracksReads)
        #expect(judge(&choice, many, at: &now) == true)
        #expect(choice.tracksReads)
    }

    @Test(
        "all changes: where most of what changes was read, where the gain is small, where little changes",
        arguments: [(1_000.0, 1_000.0, 1_000.0), (1_000, 35, 30), (40, 0, 0), (1_000, 0, 600)]
    )
    func held(_ told: Double, _ held: Double, _ read: Double) {
        var choice = TrackingChoice()
        var now = MonotonicInstant.now
        for _ in 0..<10 { #expect(judge(&choice, Rates(told: told, held: held, read: read), at: &now) == nil) }
    }

    @Test("a change that several levels of a keyspace are told of counts once, each change by itself")
    func levels() {
        let meter = TrackingMeter(logger: nil) { _ in }
        let (one, other) = (Level(), Level())
        for _ in 0..<3 { for level in [one, other] { meter.changed(7, toldTo: level) } }
        #expect(meter.toldChanges == 3)
        meter.changed(8, toldTo: other)
        #expect(meter.toldChanges == 4)
    }

    private final class Level {}

    @Test("the server does not remember what is read: all changes, and no other try for an hour")
    func refused() {
        var choice = TrackingChoice()
        var now = MonotonicInstant.now
        let many = Rates(told: 1_000, held: 10, read: 20)
        #expect(judge(&choice, many, at: &now) == true)
        choice.refused(at: now)
        #expect(!choice.tracksReads)
        let since = now
        while since.duration(to: now) < .seconds(3_600 - 20) { #expect(judge(&choice, many, at: &now) == nil) }
        now = since.advanced(by: .seconds(3_600))
        #expect(judge(&choice, many, at: &now) == true)
    }

    @Test("back when single keys cost more than all changes did; then not again for a minute, twice as long each time")
    func back() {
        var choice = TrackingChoice()
        var now = MonotonicInstant.now
        let many = Rates(told: 1_000, held: 10, read: 20)
        var pause = TrackingChoice.pauses.lowerBound
        for _ in 0..<10 {
            #expect(judge(&choice, many, at: &now) == true)
            // As much as before, and less than the other mode by too little.
            #expect(judge(&choice, Rates(told: 70, held: 0, read: 10), at: &now) == nil)
            #expect(judge(&choice, Rates(told: 80, held: 0, read: 10), at: &now) == false)
            let left = now
            while left.duration(to: now) < pause - .seconds(20) {
                #expect(judge(&choice, many, at: &now) == nil)
            }
            now = left.advanced(by: pause - .seconds(10))
            pause = min(pause * 2, TrackingChoice.pauses.upperBound)
        }
        // After an hour in the mode it was right.
        #expect(judge(&choice, many, at: &now) == true)
        now = now.advanced(by: .seconds(3_600))
        #expect(judge(&choice, Rates(told: 80, held: 0, read: 10), at: &now) == false)
        now = now.advanced(by: .seconds(50))
        #expect(judge(&choice, many, at: &now) == true)
    }
}
