import Strata
import StrataTestSupport
import Testing

@Suite("Two operations at the same time", .timeLimit(.minutes(5)))
struct ConcurrentPairTests {
    private struct Failed: Error, Equatable { var number: Int }

    @Test("each may wait for the other, and both results come back")
    func together() async {
        let (toOwn, toBeside) = (AsyncStream<Int>.makeStream(), AsyncStream<Int>.makeStream())
        let (beside, own) = await concurrently {
            toOwn.continuation.yield(1)
            return await toBeside.stream.first { _ in true }
        } and: {
            toBeside.continuation.yield(2)
            return await toOwn.stream.first { _ in true }
        }
        #expect(beside == 2 && own == 1)
    }

    @Test("a child that fails does not end this task's own operation, whose failure comes first")
    func failures() async {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        await #expect(throws: Failed(number: 1)) {
            try await concurrently {
                defer { continuation.finish() }
                throw Failed(number: 1)
            } and: {
                for await _ in stream {}
            }
        }
        await #expect(throws: Failed(number: 2)) {
            try await concurrently {
                throw Failed(number: 1)
            } and: {
                throw Failed(number: 2)
            }
        }
    }

    @Test("when this task's operation fails, the child is cancelled, and has ended before the failure is thrown")
    func cancelled() async {
        let hasEnded = Locked(false)
        await #expect(throws: Failed(number: 3)) {
            try await concurrently {
                // Ends by cancellation only.
                for await _ in AsyncStream<Void>.makeStream().stream {}
                hasEnded.withLock { $0 = true }
            } and: {
                throw Failed(number: 3)
            }
        }
        #expect(hasEnded.withLock { $0 })
    }

    @Test("cancellation of the caller reaches both")
    func cancelledFromOutside() async {
        let task = Task {
            await concurrently {
                for await _ in AsyncStream<Void>.makeStream().stream {}
                return Task.isCancelled
            } and: {
                for await _ in AsyncStream<Void>.makeStream().stream {}
                return Task.isCancelled
            }
        }
        task.cancel()
        let (beside, own) = await task.value
        #expect(beside && own)
    }
}
