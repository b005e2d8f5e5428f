import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The limit of fetches without a lease", .timeLimit(.minutes(5)))
struct FetchLimiterTests {
    private struct Failure: Error {}

    private final class Running: Sendable {
        private let counts = Locked((now: 0, most: 0))

        var now: Int { counts.withLock { $0.now } }

        var most: Int { counts.withLock { $0.most } }

        func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }

        func end() { counts.withLock { $0.now -= 1 } }
    }

    @Test("never more than the limit at once, and every fetch has a turn", arguments: [1, 3, 7])
    func bounded(limit: Int) async throws {
        let limiter = FetchLimiter(limit: limit)
        let running = Running()
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                group.addTask {
                    try await limiter.run {
                        running.begin()
                        for _ in 0..<5 { await Task.yield() }
                        running.end()
                        return number
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 199 * 100)
        #expect(running.most <= limit)
        #expect(running.now == 0)
    }

    @Test("a body that throws gives its place back")
    func failures() async throws {
        let limiter = FetchLimiter(limit: 1)
        for _ in 0..<5 { await #expect(throws: Failure.self) { try await limiter.run { throw Failure() } } }
        #expect(try await limiter.run { 7 } == 7)
    }

    @Test("who is cancelled while waiting leaves at once, and takes no place with it")
    func cancelledWaiters() async throws {
        let limiter = FetchLimiter(limit: 1)
        let gate = AsyncGate()
        let holder = Task { try await limiter.run { try await gate.pass() } }
        await gate.arrivals()
        let waiters = (0..<20).map { _ in Task { try await limiter.run { Issue.record("ran although full") } } }
        while limiter.waiting < waiters.count { try await nextTurn() }
        for (number, waiter) in waiters.enumerated() {
            if number % 2 == 0 { await Task.yield() }
            waiter.cancel()
        }
        for waiter in waiters { await #expect(throws: CancellationError.self) { try await waiter.value } }
        gate.open()
        try await holder.value
        #expect(try await limiter.run { 7 } == 7)
    }

    @Test("a fetch that does not heed its cancellation keeps its slot for its grace, and no longer")
    func grace() async throws {
        let limiter = FetchLimiter(limit: 1, grace: .seconds(600))
        let gate = AsyncGate()
        let hung = Task {
            // A task of its own does not hear of the cancellation.
            try await limiter.run { try await Task { try await gate.pass() }.value }
        }
        await gate.arrivals()
        let next = Task { try await limiter.run { 7 } }
        while limiter.waiting == 0 { try await nextTurn() }
        hung.cancel()
        _ = limiter.fire(at: .now)
        #expect(limiter.waiting == 1)
        _ = limiter.fire(at: MonotonicInstant.now.advanced(by: .seconds(601)))
        #expect(try await next.value == 7)
        #expect(limiter.running == 0)
        gate.open()
        _ = await hung.result
    }

    @Test("without Redis, levels that share a limit fetch together no more than that at once")
    func shared() async throws {
        let limiter = FetchLimiter(limit: 1)
        let gate = AsyncGate()
        let redis = try RedisClient("redis://127.0.0.1:1")
        let levels = ["users", "orders"]
            .map { name in
                RedisLevel<String, String>(redis, keyspace: Keyspace(name))
                    .fetching(LeaseOptions(limiter: limiter)) { key in
                        try await gate.pass()
                        return "\(name) \(key)"
                    }
            }
        let first = Task { try await levels[0].get("k") }
        await gate.arrivals()
        let second = Task { try await levels[1].get("k") }
        while limiter.waiting == 0 { try await nextTurn() }
        #expect(limiter.running == 1)
        gate.open()
        #expect(try await first.value == "users k")
        #expect(try await second.value == "orders k")
    }

    @Test("a limit of nothing or less is one")
    func noLimit() async throws {
        for limit in [0, -1, .min] { #expect(try await FetchLimiter(limit: limit).run { limit } == limit) }
    }
}
