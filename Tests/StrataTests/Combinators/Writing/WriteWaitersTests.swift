import Testing

@testable import Strata

@Suite("Callers that wait for writes")
struct WriteWaitersTests {
    @Test(
        "writes that end and callers that leave have nothing grow, also beside a write that never ends",
        arguments: [false, true]
    )
    func bounded(isStuck: Bool) {
        var waiters = WriteWaiters()
        waiters.open(1)
        if !isStuck { waiters.end(1, nil) }
        var number: UInt64 = 1
        for _ in 0..<10_000 {
            number += 1
            waiters.open(number)
            number += 1
            let hasWrites = waiters.wait(number, upTo: number)
            #expect(hasWrites)
            waiters.dismiss(number)
            waiters.end(number - 1, nil)
        }
        #expect(waiters.isEmpty && waiters.takeFinished().isEmpty)
        #expect(waiters.places < 200)
        if isStuck { waiters.end(1, nil) }
        let hasWrites = waiters.wait(number + 1, upTo: number + 1)
        #expect(!hasWrites)
    }

    @Test("of two writes that became one the lower number stands, and who waits for either hears of its end")
    func joined() {
        var waiters = WriteWaiters()
        for number in 1...3 as ClosedRange<UInt64> { waiters.open(number) }
        waiters.wait(10, for: 3)
        #expect(waiters.join(3, 1) == 1)
        waiters.end(2, nil)
        #expect(waiters.takeFinished().isEmpty)
        waiters.end(1, nil)
        #expect(waiters.takeFinished().map(\.waiter) == [10])
        #expect(waiters.isEmpty)
    }
}
