import Dispatch
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("An attempt to connect", .timeLimit(.minutes(5)))
struct DialerTests {
    /// Looks names up, each when the test says so.
    private final class Resolver: Sendable {
        let turnstile = DispatchSemaphore(value: 0)
        private let counts = Locked((begun: 0, ended: 0))

        var begun: Int { counts.withLock { $0.begun } }
        private var ended: Int { counts.withLock { $0.ended } }

        func lookUp() -> Result<[StrataRedis.SocketAddress], RedisError> {
            counts.withLock { $0.begun += 1 }
            turnstile.wait()
            defer { counts.withLock { $0.ended += 1 } }
            // Nothing listens at the port of discard.
            return Resolution.resolve(host: "127.0.0.1", port: 9)
        }

        /// Lets a look-up end.
        func mend() async throws {
            let before = ended
            turnstile.signal()
            while ended == before { try await nextTurn() }
        }
    }

    private let resolver = Resolver()

    private func dialer() throws -> Dialer {
        var configuration = RedisConfiguration(endpoint: .tcp(host: "cache.strata.test", port: 6379))
        configuration.lookUp = { [resolver] _, _ in resolver.lookUp() }
        configuration.connectTimeout = .seconds(1)
        return Dialer(configuration, wakeup: try Wakeup())
    }

    /// Begins an attempt.
    ///
    /// - Returns: Whether it waits for a look-up, and not yet for a connection.
    private func isLookingUp(_ dialer: Dialer, now: MonotonicInstant) -> Bool {
        guard case .pending = dialer.start(now: now) else { return false }
        return dialer.interest == nil
    }

    @Test("one that runs out of time says which name was not resolved")
    func unresolved() async throws {
        let dialer = try dialer()
        let start = MonotonicInstant.now
        _ = dialer.start(now: start)
        #expect(dialer.unreached(now: start.advanced(by: .milliseconds(900))) == nil)
        let error = dialer.unreached(now: start.advanced(by: .seconds(1)))
        #expect(error?.code == .connectionFailed && error?.endpoint == "cache.strata.test:6379")
        #expect(error?.message.contains("resolved") == true)
        dialer.abandon()
        try await resolver.mend()
    }

    @Test("a look-up that was left is used for ten seconds after that, and later asked for again")
    func oldLookUp() async throws {
        let dialer = try dialer()
        let start = MonotonicInstant.now
        _ = dialer.start(now: start)
        dialer.abandon(now: start)
        _ = dialer.start(now: start.advanced(by: .seconds(100)))
        while resolver.begun == 0 { try await nextTurn() }
        #expect(resolver.begun == 1, "it still runs")
        let left = start.advanced(by: .seconds(101))
        dialer.abandon(now: left)
        try await resolver.mend()
        // The thread of the look-up may still have to hand its answer over.
        while resolver.begun == 1, isLookingUp(dialer, now: left.advanced(by: .seconds(9))) {
            dialer.abandon(now: left)
            try await nextTurn()
        }
        #expect(resolver.begun == 1)
        dialer.abandon()

        let again = left.advanced(by: .seconds(20))
        _ = dialer.start(now: again)
        dialer.abandon(now: again)
        while resolver.begun == 1 { try await nextTurn() }
        try await resolver.mend()
        while resolver.begun == 2 {
            #expect(isLookingUp(dialer, now: again.advanced(by: .seconds(11))), "an old answer was used")
            dialer.abandon(now: again)
            try await nextTurn()
        }
        try await resolver.mend()
    }

    @Test("a server that was named by another is in the line about it")
    func named() {
        let log = LogRecorder()
        let observer = ConnectionObserver(logger: log.logger, endpoint: "mymaster@s1:26379")
        observer.failed(RedisError(code: .connectionFailed, message: "refused", endpoint: "10.0.0.7:6379"))
        observer.failed(RedisError(code: .authentication, message: "refused", endpoint: "mymaster@s1:26379"))
        #expect(log.lines.count == 2)
        #expect(log.lines.first?.text.contains("redis.server=10.0.0.7:6379") == true, "\(log.lines)")
        #expect(log.lines.last?.text.contains("redis.server") == false)
    }
}
