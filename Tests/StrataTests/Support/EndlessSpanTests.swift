import Testing

@testable import Strata

@Suite("Spans of time that never end", .timeLimit(.minutes(5)))
struct EndlessSpanTests {
    private static let endless = Duration.seconds(Int64.max)

    @Test("a pause of any length can be begun, and ends with its task")
    func pause() async {
        for clock in [ContinuousClock() as any Clock<Duration>, SuspendingClock()] {
            let pause = Task { try await clock.pause(for: Self.endless) }
            await Task.yield()
            pause.cancel()
            await #expect(throws: CancellationError.self) { try await pause.value }
        }
    }

    @Test("what is never given up lives as long as can be said, and is not taken for what has no lifetime")
    func writeBehind() {
        let options = WriteBehindOptions(timeout: Self.endless, givenUpAfter: Self.endless)
        let end = MonotonicInstant.now.advanced(by: options.shortestLife)
        #expect(end != .distantFuture && options.shortestLife >= EntryLifetime.longest)
        #expect(WriteBehindOptions(timeout: .zero, givenUpAfter: .seconds(-1)).shortestLife == .milliseconds(1))
    }
}
