import Strata
import Testing

@testable import StrataRedis

@Suite("Waiting for something to happen to a key", .timeLimit(.minutes(5)))
struct KeyWaitersTests {
    private let waiters = KeyWaiters()
    private let name: [UInt8] = [1]

    @Test("what happens between entering and waiting wakes at once")
    func early() async throws {
        let number = waiters.enter(name)
        waiters.wake(name)
        #expect(try await waiters.wait(number, until: .distantFuture)?.bytes == nil)
        waiters.leave(number)
        #expect(waiters.count == 0)
    }

    @Test("news that come before the wait are told")
    func earlyNews() async throws {
        let number = waiters.enter(name)
        waiters.wake([number], with: KeyWaiters.News(bytes: [5], ticket: .void))
        #expect(try await waiters.wait(number, until: .distantFuture)?.bytes == [5])
        waiters.leave(number)
    }

    @Test("another key's change wakes no waiter; a deadline that is over does not wait")
    func others() async throws {
        let number = waiters.enter(name)
        let waiting = Task { try await waiters.wait(number, until: .distantFuture) }
        while waiters.awaiting(name).isEmpty { await Task.yield() }
        waiters.wake([2] as [UInt8])
        #expect(waiters.awaiting(name) == [number])
        waiters.wakeAll()
        _ = try await waiting.value
        let second = waiters.enter(name)
        #expect(try await waiters.wait(second, until: .distantPast)?.bytes == nil)
        waiters.leave(number)
        waiters.leave(second)
    }
}
