import StrataTesting
import Testing

@testable import Strata

@Suite("A clock that a test moves", .timeLimit(.minutes(5)))
struct ManualClockTests {
    private let clock = ManualClock()

    @Test("it stands still, and shows by how much it was moved")
    func standsStill() throws {
        let before = clock.cacheClock.now
        while MonotonicInstant.now == before {}
        #expect(clock.cacheClock.now == before && clock.now.offset == .zero)
        try clock.advance(by: .seconds(5))
        #expect(clock.cacheClock.now == before.advanced(by: .seconds(5)) && clock.now.offset == .seconds(5))
        #expect(clock.cacheClock.coarse == clock.cacheClock.now)
        #expect(clock.cacheClock.now(at: .distantPast) == clock.cacheClock.now)
    }

    @Test("its running time goes on with the system's, and jumps with each move")
    func runs() throws {
        let before = clock.cacheClock.running
        while clock.cacheClock.running == before {}
        let system = MonotonicInstant.now
        #expect(clock.cacheClock.running(at: system) == system)
        try clock.advance(by: .seconds(3_600))
        #expect(clock.cacheClock.running(at: system) == system.advanced(by: .seconds(3_600)))
    }

    @Test(
        "back, and further than instants can tell, is an error, and nothing has changed",
        arguments: [Duration.nanoseconds(-1), .seconds(-1), .seconds(Int64.max), .seconds(101 * 366 * 86_400)]
    )
    func refuses(duration: Duration) throws {
        try clock.advance(by: .seconds(86_400))
        let shown = clock.now
        let error = #expect(throws: HarnessError.self) { try clock.advance(by: duration) }
        #expect(error?.code == .invalidTime && clock.now == shown)
        try clock.advance(by: .zero)
        #expect(clock.now == shown)
    }

    @Test("moves add up to a hundred years and no more")
    func sum() throws {
        for _ in 0..<10 { try clock.advance(by: .seconds(10 * 366 * 86_400)) }
        #expect(throws: HarnessError.self) { try clock.advance(by: .nanoseconds(1)) }
        #expect(clock.cacheClock.now < .distantFuture)
    }

    /// The order in which sleepers woke.
    private final class Order: Sendable {
        let seen = Locked([Int]())
    }

    @Test("who sleeps on it wakes when its time has come, the earliest first, and not sooner")
    func wakes() async throws {
        let order = Order()
        let sleeps = [3, 1, 2]
            .map { [clock] seconds in
                Task {
                    try await clock.sleep(for: .seconds(seconds))
                    order.seen.withLock { $0.append(seconds) }
                }
            }
        await clock.sleepers(3)
        #expect(clock.sleeping == 3)
        try clock.advance(by: .seconds(1) - .nanoseconds(1))
        #expect(clock.sleeping == 3)
        for (seconds, index) in [(1, 1), (2, 2), (3, 0)] {
            try clock.advance(by: seconds == 1 ? .nanoseconds(1) : .seconds(1))
            try await sleeps[index].value
            #expect(order.seen.withLock { $0.last } == seconds)
        }
        #expect(clock.sleeping == 0)
    }

    @Test("a sleep whose time has passed, and one that is cancelled, end at once")
    func ends() async throws {
        try clock.advance(by: .seconds(10))
        try await clock.sleep(until: .init(offset: .seconds(10)))
        let sleep = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
        await clock.sleepers(2)
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
        #expect(clock.sleeping == 0)
    }

    // MARK: Pauses

    @Test("a pause ends by itself, although the clock stands still")
    func pauseGoesOn() async throws {
        try await clock.cacheClock.pause(for: .milliseconds(1))
        #expect(clock.now.offset == .zero && clock.sleeping == 0)
    }

    @Test("a pause ends when the clock is moved past it; a smaller move makes it shorter")
    func pauseIsMoved() async throws {
        let pause = Task { [clock] in try await clock.cacheClock.pause(for: .seconds(86_400)) }
        await clock.sleepers(1)
        try clock.advance(by: .seconds(43_200))
        // It looks again, and sleeps on for the rest.
        while clock.sleeping == 0 { try await nextTurn() }
        try clock.advance(by: .seconds(43_201))
        try await pause.value
    }

    @Test("a pause that is cancelled ends at once")
    func pauseIsCancelled() async throws {
        let pause = Task { [clock] in try await clock.cacheClock.pause(for: .seconds(86_400)) }
        await clock.sleepers(1)
        pause.cancel()
        await #expect(throws: CancellationError.self) { try await pause.value }
        while clock.sleeping > 0 { try await nextTurn() }
    }

    @Test("a pause of no time ends, and is counted")
    func noPause() async throws {
        try await clock.cacheClock.pause(for: .zero)
        await clock.sleepers(1)
        try await clock.cacheClock.rest(for: .zero)
        try await clock.cacheClock.pause(for: .seconds(-1))
        await clock.sleepers(2)
    }

    @Test("moves while pauses begin wake every one", arguments: 0..<20)
    func race(_: Int) async throws {
        let pauses = (0..<8).map { _ in Task { [clock] in try await clock.cacheClock.pause(for: .seconds(3_600)) } }
        // In the midst of their beginnings: who begins later has its own hour before it.
        try clock.advance(by: .seconds(3_600))
        await clock.sleepers(8)
        try clock.advance(by: .seconds(3_600))
        for pause in pauses { try await pause.value }
    }

    // MARK: What is due

    /// Notes when it is called, and asks for the next time.
    private final class Due: Watched {
        let calls = Locked([MonotonicInstant]())
        let next: Duration?

        init(next: Duration? = nil) { self.next = next }

        func fire(at now: MonotonicInstant) -> MonotonicInstant {
            calls.withLock { $0.append(now) }
            return next.map { now.advanced(by: $0) } ?? .distantFuture
        }
    }

    @Test("what is due is done when the move returns, once, however far the move; then by what it has said")
    func due() throws {
        let (once, again) = (Due(), Due(next: .seconds(10)))
        let start = clock.cacheClock.now
        let watch = Watch(clock.cacheClock)
        watch.schedule(once, by: start.advanced(by: .seconds(5)))
        watch.schedule(again, by: start.advanced(by: .seconds(5)))
        try clock.advance(by: .seconds(4))
        #expect(once.calls.withLock { $0.isEmpty })
        try clock.advance(by: .seconds(996))
        try clock.advance(by: .seconds(9))
        let late = start.advanced(by: .seconds(1_000))
        #expect(once.calls.withLock { $0 } == [late] && again.calls.withLock { $0 } == [late])
        try clock.advance(by: .seconds(1))
        #expect(again.calls.withLock { $0.count } == 2 && once.calls.withLock { $0.count } == 1)
    }

    @Test("what is due already when it is scheduled is done, but not before that returns")
    func dueAtOnce() async throws {
        let due = Due()
        let watch = Watch(clock.cacheClock)
        watch.schedule(due, by: clock.cacheClock.now)
        while due.calls.withLock({ $0.isEmpty }) { try await nextTurn() }
    }

    @Test("the earliest time counts, and what wants to be called at once, again, is called with the next move")
    func earliest() throws {
        let due = Due(next: .zero)
        let watch = Watch(clock.cacheClock)
        for seconds in [30, 10, 20] { watch.schedule(due, by: clock.cacheClock.now.advanced(by: .seconds(seconds))) }
        try clock.advance(by: .seconds(10))
        #expect(due.calls.withLock { $0.count } == 1)
        try clock.advance(by: .seconds(1))
        #expect(due.calls.withLock { $0.count } == 2)
    }

    @Test("the clock keeps no sleeper alive, and goes past those that are gone")
    func owners() throws {
        let watch = Watch(clock.cacheClock)
        weak var gone: Due?
        do {
            let due = Due()
            gone = due
            watch.schedule(due, by: clock.cacheClock.now.advanced(by: .seconds(1)))
        }
        #expect(gone == nil)
        let due = Due()
        watch.schedule(due, by: clock.cacheClock.now.advanced(by: .seconds(2)))
        try clock.advance(by: .seconds(3))
        #expect(due.calls.withLock { $0.count } == 1)
    }

    @Test("a watch on the running time is called in real time, and when the clock is moved")
    func runningWatch() async throws {
        let watch = Watch(clock.cacheClock, .running)
        let (soon, late) = (Due(), Due())
        watch.schedule(soon, by: clock.cacheClock.running.advanced(by: .milliseconds(1)))
        while soon.calls.withLock({ $0.isEmpty }) { try await nextTurn() }
        let other = Watch(clock.cacheClock, .running)
        other.schedule(late, by: clock.cacheClock.running.advanced(by: .seconds(3_600)))
        while clock.sleeping == 0 { try await nextTurn() }
        #expect(late.calls.withLock { $0.isEmpty })
        try clock.advance(by: .seconds(3_600))
        while late.calls.withLock({ $0.isEmpty }) { try await nextTurn() }
    }

    // MARK: The scope

    @Test("what is made in the scope has the clock, also by child tasks and after a suspension; nothing else has")
    func scope() async throws {
        #expect(CacheClock.current == .system)
        let inside = clock.driving { CacheClock.current }
        #expect(inside == clock.cacheClock && inside != .system)
        let (later, child, detached) = await clock.driving {
            await Task.yield()
            async let child = CacheClock.current
            return (CacheClock.current, await child, await Task.detached { CacheClock.current }.value)
        }
        #expect(later == clock.cacheClock && child == clock.cacheClock && detached == .system)
        #expect(CacheClock.current == .system)
    }

    @Test("errors of the closure pass, and the scope has ended")
    func scopeThrows() async {
        struct Failure: Error {}
        #expect(throws: Failure.self) { try clock.driving { throw Failure() } }
        await #expect(throws: Failure.self) { try await clock.driving { () async throws in throw Failure() } }
        #expect(CacheClock.current == .system)
    }

    @Test("scopes nest: the inner clock counts")
    func nested() {
        let other = ManualClock()
        clock.driving {
            other.driving { #expect(CacheClock.current == other.cacheClock) }
            #expect(CacheClock.current == clock.cacheClock)
        }
    }

    @Test("levels, sources and what is made of them say by which clock they go")
    func levels() {
        let (memory, source) = clock.driving {
            (MemoryLevel<String, String>(limit: .entries(4)), Source<String, String> { _ in nil })
        }
        let composed = memory.compose(source)
        let wrapped = composed.pooled().retry().timeout(.seconds(1)).collecting().normalized()
        for known in [memory.clock, source.clock, composed.clock, wrapped.clock] {
            #expect(known == clock.cacheClock)
        }
        #expect(MemoryLevel<String, String>(limit: .entries(4)).clock == .system)
        #expect(ClosureLevel<String, String>(get: { _ in nil }, set: { _, _ in }).clock == nil)
        // A level without a clock goes by that of the levels around it.
        let closures = ClosureLevel<String, String>(get: { _ in nil }, set: { _, _ in })
        #expect(closures.compose(source).clock == clock.cacheClock)
    }

    @Test("levels that go by different clocks cannot be composed")
    func mixed() async {
        await #expect(processExitsWith: .failure) {
            let memory = MemoryLevel<String, String>(limit: .entries(4))
            _ = ManualClock().driving { memory.compose(Source<String, String> { _ in nil }) }
        }
        await #expect(processExitsWith: .failure) {
            let memory = MemoryLevel<String, String>(limit: .entries(4))
            _ = memory.race(ManualClock().driving { MemoryLevel<String, String>(limit: .entries(4)) })
        }
    }
}
