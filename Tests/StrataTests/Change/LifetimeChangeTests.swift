import StrataTesting
import Testing

@testable import Strata

@Suite("Changing how long a value lives")
struct LifetimeChangeTests {
    struct Refusal: Error {}

    private let memory = MemoryLevel<String, Int>(limit: .entries(100))
    private let hour = EntryLifetime(freshFor: .seconds(3_600))

    private func entry(
        freshFor fresh: Duration,
        staleFor stale: Duration = .zero,
        revalidateFor revalidate: Duration = .zero,
        tags: [String] = []
    ) -> Entry<Int> {
        let now = MonotonicInstant.now
        return Entry(
            .value(1),
            freshUntil: now.advanced(by: fresh),
            staleUntil: now.advanced(by: fresh + stale),
            revalidateUntil: now.advanced(by: fresh + revalidate),
            storedAt: now.advanced(by: .seconds(-10)),
            version: .random(),
            tags: tags
        )
    }

    // MARK: Touch

    @Test("a value that is touched is fresh for as long as is named; its value, tags and age stay")
    func touch() async throws {
        try await memory.store(entry(freshFor: .seconds(60), tags: ["t"]), for: "k")
        let before = try #require(try await memory.entry(for: "k", ReadRequest()))
        let start = MonotonicInstant.now
        #expect(try await memory.touch("k", lifetime: EntryLifetime(freshFor: .seconds(600), staleFor: .seconds(7))))
        let found = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(found.value == 1 && found.tags == ["t"] && found.version != before.version)
        #expect(found.age(at: start).map { $0 > .seconds(9) } == true)
        #expect(start.duration(to: found.freshUntil) > .seconds(599))
        #expect(found.freshUntil.duration(to: found.staleUntil) == .seconds(7))
        // By the policy, which memory alone has not.
        #expect(try await memory.touch("k"))
        #expect(try await memory.entry(for: "k", ReadRequest())?.freshUntil == .distantFuture)
        try await memory.invalidate(tag: "t")
        #expect(try await memory.touch("k") == false)
        #expect(try await memory.get("k") == nil)
    }

    @Test("a lifetime may be shortened; none removes the key; where there is no value nothing is touched")
    func shorten() async throws {
        try await memory.set(1, for: "k", lifetime: hour)
        #expect(try await memory.touch("k", lifetime: EntryLifetime(freshFor: .seconds(50))))
        let found = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(MonotonicInstant.now.duration(to: found.freshUntil) <= .seconds(50))
        #expect(try await memory.touch("k", lifetime: EntryLifetime(freshFor: .zero)))
        #expect(try await memory.entry(for: "k", ReadRequest()) == nil)
        #expect(try await memory.touch("k", lifetime: EntryLifetime(freshFor: .zero)) == false)
        try await memory.store(Entry(.absent), for: "absent")
        try await memory.store(entry(freshFor: .seconds(-10)), for: "expired")
        for key in ["none", "absent", "expired"] { #expect(try await memory.touch(key, lifetime: hour) == false) }
        #expect(try await memory.get("expired") == nil)
    }

    @Test("a stale value that is touched is fresh again")
    func revived() async throws {
        try await memory.store(entry(freshFor: .seconds(-10), staleFor: .seconds(600)), for: "k")
        #expect(memory.resident("k", at: .coarse) == nil)
        #expect(try await memory.touch("k", lifetime: hour))
        #expect(memory.resident("k", at: .coarse)?.value == 1)
    }

    // MARK: Expire

    @Test("a value that is expired is stale at once, for its window; without a window it is gone")
    func expire() async throws {
        try await memory.store(
            entry(freshFor: .seconds(3_600), staleFor: .seconds(60), revalidateFor: .seconds(20)),
            for: "k"
        )
        #expect(try await memory.expire("k"))
        #expect(memory.resident("k", at: .coarse) == nil)
        let found = try #require(try await memory.entry(for: "k", ReadRequest()))
        let now = MonotonicInstant.now
        #expect(found.value == 1 && !found.isFresh(at: .coarse))
        #expect(now.duration(to: found.staleUntil) <= .seconds(60) && now.duration(to: found.staleUntil) > .seconds(30))
        #expect(now.duration(to: found.revalidateUntil) <= .seconds(20))
        // Again: the window does not begin anew.
        #expect(try await memory.expire("k"))
        #expect(try await memory.entry(for: "k", ReadRequest())?.staleUntil == found.staleUntil)
        for (key, lifetime) in [("hour", hour), ("endless", .byPolicy)] {
            try await memory.set(1, for: key, lifetime: lifetime)
            #expect(try await memory.expire(key) == false, "\(key)")
            #expect(try await memory.entry(for: key, ReadRequest()) == nil, "\(key)")
        }
        try await memory.store(Entry(.absent), for: "absent")
        #expect(try await memory.expire("absent") == false)
        #expect(try await memory.entry(for: "absent", ReadRequest()) == nil)
        #expect(try await memory.expire("none") == false)
    }

    @Test("after expire a read asks the source; the old value is served while that fails, and no longer afterwards")
    func overSource() async throws {
        let answer = Locked<Result<Int, Refusal>>(.success(1))
        let policy = FreshnessPolicy(freshFor: .seconds(3_600), staleIfError: .seconds(3_600), jitter: 0)
        let cache = memory.compose(
            Source<String, Int>(freshness: policy, failureBackOff: nil) { _ in try answer.withLock { $0 }.get() }
        )
        #expect(try await cache.get("k") == 1)
        answer.withLock { $0 = .failure(Refusal()) }
        #expect(try await cache.expire("k"))
        #expect(try await cache.get("k") == 1)
        answer.withLock { $0 = .success(2) }
        #expect(try await cache.get("k") == 2)
        // Removed it would be an error.
        answer.withLock { $0 = .failure(Refusal()) }
        try await cache.remove("k")
        await #expect(throws: Refusal.self) { try await cache.get("k") }
    }

    @Test("a fetch that has begun before an expire does not make its value fresh", arguments: [true, false])
    func running(hasValue: Bool) async throws {
        let gate = AsyncGate()
        let fetches = Locked(0)
        let policy = FreshnessPolicy(freshFor: .seconds(3_600), staleIfError: .seconds(3_600), jitter: 0)
        let cache = memory.compose(
            Source<String, Int>(freshness: policy) { _ in
                let number = fetches.withLock { count in
                    count += 1
                    return count
                }
                if number == 1 { try await gate.pass() }
                return number
            }
        )
        if hasValue {
            try await cache.set(0, for: "k", lifetime: EntryLifetime(freshFor: .seconds(60), staleFor: .seconds(600)))
        }
        async let read = cache.get("k", ReadOptions.reload)
        await gate.arrivals(1)
        #expect(try await cache.expire("k") == hasValue)
        gate.open()
        _ = try await read
        #expect(try await cache.get("k") == 2)
    }

    // MARK: Compositions

    @Test("two memories: the lower one is changed, and what stands above is dropped")
    func composed() async throws {
        let lower = MemoryLevel<String, Int>(limit: .entries(10))
        let cache = memory.compose(lower)
        try await cache.set(1, for: "k", lifetime: EntryLifetime(freshFor: .seconds(60), staleFor: .seconds(60)))
        try await lower.set(2, for: "k", lifetime: EntryLifetime(freshFor: .seconds(60), staleFor: .seconds(60)))
        #expect(try await cache.touch("k", lifetime: hour))
        #expect(try await memory.entry(for: "k", ReadRequest()) == nil)
        #expect(try await cache.get("k") == 2)
        let above = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(MonotonicInstant.now.duration(to: above.freshUntil) > .seconds(3_000))
        try await cache.set(3, for: "k", lifetime: EntryLifetime(freshFor: .seconds(60), staleFor: .seconds(60)))
        #expect(try await cache.expire("k"))
        #expect(cache.resident("k", at: .coarse) == nil)
        #expect(try await lower.entry(for: "k", ReadRequest())?.value == 3)
        try await lower.remove("k")
        #expect(try await cache.touch("k", lifetime: hour) == false)
        #expect(try await cache.expire("k") == false)
        #expect(try await cache.get("k") == nil)
    }

    @Test("combinators hand it down, in their own keys")
    func combinators() async throws {
        let first = MemoryLevel<String, Int>(limit: .entries(10))
        let switched = switchLevels(first, memory) { $0.hasPrefix("a") ? .first : .second }
        let cache = switched.capped(4).pooled().timeout(.seconds(60)).conditioned { _ in true }
            .retry(RetryPolicy(times: 1))
            .transformKeys { (number: Int) in number == 0 ? "a" : "b" }
            .transformValues({ "\($0)" }, inverse: { Int($0) ?? -1 })
            .normalized()
        let lifetime = EntryLifetime(freshFor: .seconds(60), staleFor: .seconds(60))
        for number in [0, 1] {
            #expect(try await cache.touch(number, lifetime: hour) == false)
            try await cache.set("5", for: number, lifetime: lifetime)
            #expect(try await cache.touch(number, lifetime: hour))
        }
        for (level, key) in [(first, "a"), (memory, "b")] {
            let found = try #require(try await level.entry(for: key, ReadRequest()))
            #expect(found.value == 5 && MonotonicInstant.now.duration(to: found.freshUntil) > .seconds(3_000))
        }
        try await cache.set("6", for: 0, lifetime: lifetime)
        #expect(try await cache.expire(0))
        #expect(first.resident("a", at: .coarse) == nil)
        #expect(try await first.entry(for: "a", ReadRequest())?.value == 6)
        #expect(memory.resident("b", at: .coarse)?.value == 5)
    }

    @Test("tasks that touch, expire, set and count: each answer is whole, and no count is lost")
    func concurrent() async throws {
        let memory = memory
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<16 {
                group.addTask {
                    for _ in 0..<25 {
                        if task.isMultiple(of: 2) {
                            try await memory.update("k", within: .seconds(60)) { ($0 ?? 0) + 1 }
                        } else {
                            try await memory.touch(
                                "k",
                                lifetime: EntryLifetime(freshFor: .seconds(600)),
                                within: .seconds(60)
                            )
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await memory.get("k") == 200)
    }
}
