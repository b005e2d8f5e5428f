import Testing

@testable import Strata

// Callers that wait for writes.
extension PendingWritesTests {
    @Test("callers wait for what was set before they came, and hear what was given up", arguments: [false, true])
    func waiting(failsFirst: Bool) throws {
        let rig = Rig { $0.isTransient = { _ in false } }
        let nothing = rig.wait(70)
        #expect(!nothing)
        rig.set(1, for: "a")
        #expect(rig.wait(71))
        rig.advance()
        let first = try #require(rig.take())
        #expect(first.writes.count == 1)
        rig.set(2, for: "b")
        #expect(rig.wait(72))
        #expect(rig.wait(73))
        rig.pending.dismiss(73)
        rig.advance()
        let second = try #require(rig.take())
        if failsFirst {
            rig.fail(second)
            #expect(rig.finished.isEmpty)
        }
        rig.succeed(first)
        if !failsFirst {
            #expect(rig.finished.map(\.waiter) == [71])
            rig.fail(second)
        }
        #expect(rig.finished.map(\.waiter) == [71, 72])
        #expect(rig.finished.first?.error == nil && rig.finished.last?.error is Failure)
    }

    @Test("who waits for all waits for those that there were, whatever is set later, and leaves nothing behind")
    func waitingForAll() throws {
        let rig = Rig { $0.batch = 1 }
        #expect(!rig.wait(70))
        rig.set(1, for: "a")
        let first = try #require(rig.take())
        #expect(rig.wait(71))
        rig.set(2, for: "b")
        let second = try #require(rig.take())
        #expect(rig.wait(72))
        rig.succeed(second)
        #expect(rig.finished.isEmpty)
        for waiter in 100..<200 as Range<UInt64> {
            #expect(rig.wait(waiter))
            rig.pending.dismiss(waiter)
        }
        rig.set(3, for: "c")
        #expect(rig.wait(73))
        rig.succeed(first)
        #expect(rig.finished.map(\.waiter) == [71, 72])
        rig.succeed(try #require(rig.take()))
        #expect(rig.finished.map(\.waiter) == [71, 72, 73])
        #expect(rig.pending.waiters.isEmpty)
    }
}
