import Dispatch
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// Names are looked up by the test, so that it decides when that ends.
@Suite("A look-up that hangs, and its end", .leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct LookUpFaultTests {
    /// What looks names up in place of the system: it hangs until it is mended.
    private final class Resolver: Sendable {
        private let turnstile = DispatchSemaphore(value: 0)
        private let counts = Locked((begun: 0, hanging: 0))

        /// How many look-ups have begun, and how many of them have not ended.
        var now: (begun: Int, hanging: Int) { counts.withLock { $0 } }

        func mend() { turnstile.signal() }

        func lookUp() -> Result<[StrataRedis.SocketAddress], RedisError> {
            counts.withLock {
                $0.begun += 1
                $0.hanging += 1
            }
            turnstile.wait()
            turnstile.signal()
            counts.withLock { $0.hanging -= 1 }
            return Resolution.resolve(host: "127.0.0.1", port: port)
        }

        private let port: UInt16

        init(_ port: UInt16) { self.port = port }
    }

    @Test("the source answers while it hangs, one look-up for each connection; its answer leads back to Redis")
    func recovers() async throws {
        let server = try await RedisServer.start()
        let resolver = Resolver(try #require(server.port))
        var configuration = RedisConfiguration(endpoint: .tcp(host: "cache.strata.test", port: 6379))
        configuration.lookUp = { _, _ in resolver.lookUp() }
        // Long enough for a busy machine: the next attempt would look the name up again.
        configuration.connectTimeout = .seconds(2)
        configuration.breaker.pause = .milliseconds(100) ... .milliseconds(500)
        let redis = try RedisClient(configuration)
        let level = RedisLevel<String, String>(redis, keyspace: Keyspace(TestServer.uniqueName()), codec: .text)
        let fetched = Shared(0)
        let cache = level.fetching { _ in
            _ = fetched.next()
            return "value"
        }
        // For longer than an attempt to connect, and its repetition, may take.
        let began = MonotonicInstant.now
        var reads = 0
        while began.duration(to: .now) < configuration.connectTimeout * 3 || resolver.now.begun < 2 {
            #expect(try await cache.get("key-\(reads)") == "value")
            reads += 1
            #expect(resolver.now.hanging <= 2)
            try await nextTurn()
        }
        #expect(resolver.now.hanging == 2)
        #expect(fetched.withLock { $0 } == reads)
        #expect(level.statistics.stores == 0)

        let mended = MonotonicInstant.now
        resolver.mend()
        while level.statistics.stores == 0 {
            reads += 1
            #expect(try await cache.get("key-\(reads)") == "value")
            try await nextTurn()
        }
        let passed = mended.duration(to: .now)
        let bound =
            configuration.reconnectDelay.upperBound + configuration.connectTimeout
            + configuration.breaker.pause.upperBound
        // A machine that stands still comes on top.
        #expect(passed <= bound + .seconds(20))
        // What has hung was waited for, and its answer used: nothing is looked up a second time.
        try await level.ready(within: .seconds(60))
        #expect(resolver.now.begun == 2 && resolver.now.hanging == 0)
        FaultFigures.tell(
            18,
            [
                "reads": reads, "errors": 0, "look-ups": resolver.now.begun,
                "back after ms": passed.milliseconds, "bound ms": bound.milliseconds,
            ]
        )
        await redis.shutDown()
        try await server.stop()
    }
}
