import Testing

@testable import StrataRedis

@Suite("Busy waiting")
struct BusyWaitTests {
    @Test("Success is followed by another busy wait")
    func successes() {
        var wait = BusyWait()
        var busy = 0
        for _ in 0..<100 where wait.begins(inFlight: 1) {
            wait.ended(found: true)
            busy += 1
        }
        #expect(busy == 100)
    }

    @Test("Spans in vain become rare, and one success ends that")
    func pauses() {
        var wait = BusyWait()
        var busy = 0
        for _ in 0..<10_000 where wait.begins(inFlight: 0) {
            wait.ended(found: false)
            busy += 1
        }
        // One, then after 1, 2, 4 … 256 others, then every 257th.
        #expect(busy == 10 + (10_000 - 10 - 511) / 257)
        while !wait.begins(inFlight: 0) {}
        wait.ended(found: true)
        let goesOn = wait.begins(inFlight: 0)
        #expect(goesOn)
    }

    @Test("A thread with work enough does not wait busily")
    func manyCalls() {
        var wait = BusyWait()
        let withMany = wait.begins(inFlight: BusyWait.mostInFlight + 1)
        let withFew = wait.begins(inFlight: BusyWait.mostInFlight)
        #expect(!withMany && withFew)
    }
}
