import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What calls may cost changes while a client is in use", .timeLimit(.minutes(5)))
struct CallTermsTests {
    private static let second: Int64 = 1_000_000_000

    private func instant(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64((1_000 + seconds) * Double(Self.second)))
    }

    private func fail(_ breaker: CircuitBreaker, _ count: Int, at seconds: Double) throws {
        for _ in 0..<count {
            breaker.leave(try breaker.enter(at: instant(seconds)), .failed, after: 1, at: instant(seconds))
        }
    }

    @Test("a breaker goes by the number of failures that counts now")
    func minimumCalls() throws {
        let terms = Adjustable(CallTerms(BreakerOptions(minimumCalls: 100), budget: .seconds(1), .seconds(1)))
        let breaker = CircuitBreaker(.read, terms, endpoint: "somewhere", logger: nil)
        try fail(breaker, 5, at: 0)
        #expect(breaker.statistics.state == .closed)
        terms.change { $0 = CallTerms(BreakerOptions(minimumCalls: 3), budget: .seconds(1), .seconds(1)) }
        try fail(breaker, 1, at: 0)
        #expect(breaker.statistics.state == .open)
    }

    @Test("the pause of a breaker is that of the terms in force when it opens")
    func pause() throws {
        func terms(_ seconds: Int) -> CallTerms {
            let pause: Duration = .seconds(seconds)
            return CallTerms(BreakerOptions(minimumCalls: 1, pause: pause...pause), budget: .seconds(1), .seconds(1))
        }
        let adjustable = Adjustable(terms(1_000))
        let breaker = CircuitBreaker(.read, adjustable, endpoint: "somewhere", logger: nil)
        adjustable.change { $0 = terms(2) }
        try fail(breaker, 1, at: 0)
        #expect(throws: CircuitBreaker.Refusal.self) { try breaker.enter(at: instant(0.5)) }
        do throws(CircuitBreaker.Refusal) {
            _ = try breaker.enter(at: instant(2.5))
            Issue.record("the breaker is closed")
        } catch {
            #expect(error.probe != nil, "it is not probed yet")
        }
    }

    @Test("what counts as slow, and the window, are those that count now")
    func window() throws {
        func terms(_ window: Duration, slowAfter: Duration) -> CallTerms {
            let options = BreakerOptions(window: window, minimumCalls: 4, slowShare: 1, slowAfter: slowAfter)
            return CallTerms(options, budget: .seconds(1), .seconds(1))
        }
        let adjustable = Adjustable(terms(.seconds(16), slowAfter: .seconds(1)))
        let breaker = CircuitBreaker(.read, adjustable, endpoint: "somewhere", logger: nil)
        func call(at seconds: Double) throws {
            breaker.leave(
                try breaker.enter(at: instant(seconds)),
                .answered,
                after: Self.second / 2,
                at: instant(seconds)
            )
        }
        for _ in 0..<10 { try call(at: 0) }
        #expect(breaker.statistics.state == .closed)
        adjustable.change { $0 = terms(.seconds(1_600), slowAfter: .milliseconds(100)) }
        // Those before were not slow, and the window is another one.
        for step in 0..<4 { try call(at: 1 + Double(step) * 300) }
        #expect(breaker.statistics.state == .open)
    }

    @Test("a client has the terms that it was given last, at its connections, too; what makes no sense changes nothing")
    func client() async throws {
        let redis = try await TestServer.client()
        #expect(redis.redisBudget == .seconds(20) && redis.breaker == redis.configuration.breaker)
        var breaker = BreakerOptions()
        breaker.slowAfter = .milliseconds(40)
        try redis.adjust(redisBudget: .milliseconds(700), breaker: breaker)
        #expect(redis.redisBudget == .milliseconds(700) && redis.breaker == breaker)
        try redis.adjust(redisBudget: .milliseconds(900))
        #expect(redis.redisBudget == .milliseconds(900) && redis.breaker == breaker)
        #expect(try redis.outage.limit(nil) == 900 * 1_000_000)
        let settings = ConnectionSettings(redis.configuration)
        #expect(settings.slowReply == 20 * 1_000_000)
        for (budget, options) in [
            (Duration.zero, breaker), (.seconds(1), BreakerOptions(window: .zero)),
            (.seconds(1), BreakerOptions(pause: .zero ... .seconds(1))),
        ] {
            #expect { try redis.adjust(redisBudget: budget, breaker: options) } throws: {
                ($0 as? RedisError)?.code == .invalidConfiguration
            }
        }
        #expect(redis.redisBudget == .milliseconds(900) && redis.breaker == breaker)
        // What a client was made with makes another one, with terms of its own.
        let other = try RedisClient(redis.configuration)
        #expect(other.redisBudget == .seconds(20))
        try other.adjust(redisBudget: .seconds(3))
        #expect(redis.redisBudget == .milliseconds(900))
    }

    @Test("a call ends by the budget that it began with, the next one by the new budget")
    func budget() async throws {
        let redis = try await TestServer.client()
        func left() async -> Int64? { await redis.budgeted { CallBudget.current?.left } }
        #expect(await left() == 20 * Self.second)
        try await redis.budgeted {
            try redis.adjust(redisBudget: .seconds(2))
            #expect(CallBudget.current?.left == 20 * Self.second)
        }
        #expect(await left() == 2 * Self.second)
    }

    @Test("where replicas are read the budget cannot grow")
    func replicas() throws {
        var configuration = try RedisConfiguration(url: "redis-cluster://127.0.0.1:1")
        configuration.replicaLagLimit = .seconds(1)
        configuration.redisBudget = .milliseconds(400)
        let redis = try RedisClient(configuration)
        try redis.adjust(redisBudget: .milliseconds(100))
        try redis.adjust(redisBudget: .milliseconds(400))
        #expect { try redis.adjust(redisBudget: .milliseconds(401)) } throws: {
            ($0 as? RedisError)?.code == .invalidConfiguration
        }
    }

    @Test("the clients of a cluster's nodes have the terms of the whole, those that come later as well")
    func nodes() throws {
        let configuration = try RedisConfiguration(url: "redis-cluster://127.0.0.1:1").withOwnTerms()
        let first = OutageControl(configuration.node(at: .tcp(host: "127.0.0.1", port: 2)), logger: nil)
        configuration.terms?.change { $0 = CallTerms(BreakerOptions(), budget: .seconds(7), .seconds(1)) }
        let second = OutageControl(configuration.node(at: .tcp(host: "127.0.0.1", port: 3)), logger: nil)
        #expect(first.budget == 7 * Self.second && second.budget == 7 * Self.second)
    }

    @Test("a level and its fetches go by a policy that changes; invalidations are kept for the longest life there was")
    func policy() async throws {
        let redis = try await TestServer.client()
        let keyspace = Keyspace(TestServer.uniqueName())
        let policy = FreshnessPolicy(freshFor: .seconds(40 * 86_400), jitter: 0)
        let level = RedisLevel<Int, Int>(redis, keyspace: keyspace, freshness: policy)
        let cache = level.fetching { $0 }
        let before = try #require(try await cache.entry(for: 1, ReadRequest()))
        #expect(abs(before.storedAt.duration(to: before.freshUntil) / .seconds(1) - 40 * 86_400) < 10)
        level.freshness = FreshnessPolicy(freshFor: .seconds(30), jitter: 0)
        let after = try #require(try await cache.entry(for: 2, ReadRequest()))
        #expect(abs(after.storedAt.duration(to: after.freshUntil) / .seconds(1) - 30) < 10)
        #expect(cache.policy?.freshFor == .seconds(30))
        // What was stored before lives on, and so must an invalidation of it.
        #expect(level.longestLifetime >= .seconds(40 * 86_400))
        level.freshness.freshFor = .seconds(50 * 86_400)
        #expect(level.longestLifetime >= .seconds(50 * 86_400))
    }

    @Test("waits and back-offs go by options that change; a limiter that was given stays")
    func leases() async throws {
        struct Failure: Error {}
        let redis = try await TestServer.client()
        let level = RedisLevel<Int, Int>(redis, keyspace: Keyspace(TestServer.uniqueName()))
        let calls = Locked(0)
        let options = LeaseOptions(
            duration: .seconds(60),
            renewalLimit: .seconds(600),
            failureBackOff: .seconds(600) ... .seconds(600)
        )
        let cache = level.fetching(options) { _ in
            calls.withLock { $0 += 1 }
            throw Failure()
        }
        for _ in 0..<3 { await #expect(throws: Failure.self) { try await cache.get(1) } }
        #expect(calls.withLock { $0 } == 1)
        cache.options.failureBackOff = nil
        cache.options.fetchLimit = 9
        for _ in 0..<3 { await #expect(throws: Failure.self) { try await cache.get(2) } }
        #expect(calls.withLock { $0 } == 4)
        #expect(cache.limiter.limit == 9)

        let limiter = FetchLimiter(limit: 2)
        let shared = level.fetching(LeaseOptions(limiter: limiter)) { $0 }
        shared.options = LeaseOptions(fetchLimit: 50, limiter: FetchLimiter(limit: 7))
        #expect(shared.options.limiter == limiter && limiter.limit == 2)
    }
}
