import StrataTesting
import Testing

@testable import Strata

@Suite("Setting what is absent or as expected")
struct ConditionalChangeTests {
    private let memory = MemoryLevel<String, Int>(limit: .entries(100))

    @Test("a value is set where there is none; otherwise the one that stands there is returned")
    func absent() async throws {
        #expect(try await memory.setIfAbsent(1, for: "k") == nil)
        #expect(try await memory.setIfAbsent(2, for: "k") == 1)
        #expect(try await memory.get("k") == 1)
        try await memory.remove("k")
        #expect(try await memory.setIfAbsent(3, for: "k") == nil)
        #expect(try await memory.get("k") == 3)
    }

    @Test("an absence, and what has expired or was invalidated, is none; what may be served as stale stands there")
    func none() async throws {
        let past = MonotonicInstant.coarse.advanced(by: .seconds(-1))
        let later = past.advanced(by: .seconds(600))
        try await memory.set(1, for: "void", tags: ["t"])
        try await memory.invalidate(tag: "t")
        try await memory.store(Entry(.absent), for: "absent")
        try await memory.store(Entry(.value(1), freshUntil: past), for: "expired")
        try await memory.store(Entry(.value(1), freshUntil: past, staleUntil: later), for: "stale")
        for key in ["void", "absent", "expired"] {
            #expect(try await memory.compareAndSet(key, from: 1, to: 2) == false, "\(key)")
            #expect(try await memory.setIfAbsent(7, for: key) == nil, "\(key)")
            #expect(try await memory.get(key) == 7, "\(key)")
        }
        #expect(try await memory.setIfAbsent(7, for: "stale") == 1)
        #expect(try await memory.compareAndSet("stale", from: 1, to: 2))
    }

    @Test("lifetime and tags are those that are named; without freshness nothing is kept")
    func lifetime() async throws {
        let start = MonotonicInstant.coarse
        let lifetime = EntryLifetime(freshFor: .seconds(50), staleFor: .seconds(30))
        #expect(try await memory.setIfAbsent(1, for: "k", lifetime: lifetime, tags: ["t"]) == nil)
        let found = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(start.duration(to: found.freshUntil) < .seconds(90))
        #expect(found.freshUntil.duration(to: found.staleUntil) == .seconds(30))
        // Compared and set, it keeps both.
        #expect(try await memory.compareAndSet("k", from: 1, to: 2))
        let kept = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(kept.value == 2 && kept.tags == ["t"] && kept.freshUntil == found.freshUntil)
        #expect(try await memory.compareAndSet("k", from: 2, to: 3, lifetime: .byPolicy, tags: []))
        let named = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(named.tags.isEmpty && named.freshUntil == .distantFuture)
        #expect(try await memory.setIfAbsent(1, for: "none", lifetime: EntryLifetime(freshFor: .zero)) == nil)
        #expect(try await memory.entry(for: "none", ReadRequest()) == nil)
        let many = (0...TagLimits.tagsPerEntry).map { "tag \($0)" }
        await #expect(throws: CacheError.self) { try await memory.setIfAbsent(1, for: "many", tags: many) }
    }

    @Test("the expected value is replaced or removed, and no other one")
    func expected() async throws {
        #expect(try await memory.compareAndSet("k", from: nil, to: nil))
        #expect(try await memory.compareAndSet("k", from: 1, to: 2) == false)
        #expect(try await memory.compareAndSet("k", from: nil, to: 1))
        #expect(try await memory.compareAndSet("k", from: nil, to: 2) == false)
        #expect(try await memory.compareAndSet("k", from: 2, to: nil) == false)
        #expect(try await memory.get("k") == 1)
        #expect(try await memory.compareAndSet("k", from: 1, to: nil))
        #expect(try await memory.entry(for: "k", ReadRequest()) == nil)
    }

    @Test("of tasks that race for a key one succeeds, and the others are told its value; counting loses nothing")
    func concurrent() async throws {
        let memory = memory
        for round in 0..<20 {
            let answers = try await withThrowingTaskGroup(of: Int?.self) { group in
                for task in 0..<16 {
                    group.addTask { try await memory.setIfAbsent(task, for: "\(round)", within: .seconds(60)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let winner = try #require(try await memory.get("\(round)"))
            #expect(answers.count { $0 == nil } == 1)
            #expect(answers.allSatisfy { $0 == nil || $0 == winner })
        }
        try await memory.set(0, for: "count")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    var added = 0
                    while added < 25 {
                        let old = try await memory.get("count") ?? 0
                        if try await memory.compareAndSet("count", from: old, to: old + 1, within: .seconds(60)) {
                            added += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await memory.get("count") == 400)
    }

    @Test("two memories: the lower one decides, past an older value above")
    func composed() async throws {
        let lower = MemoryLevel<String, Int>(limit: .entries(10))
        let cache = memory.compose(lower)
        try await cache.set(1, for: "k")
        // Another owner of the lower level.
        try await lower.set(10, for: "k")
        #expect(try await cache.compareAndSet("k", from: 1, to: 2) == false)
        #expect(try await cache.setIfAbsent(2, for: "k") == 10)
        #expect(try await cache.compareAndSet("k", from: 10, to: 11))
        #expect(cache.resident("k", at: .coarse)?.value == 11)
        #expect(try await lower.get("k") == 11)
        try await lower.remove("k")
        #expect(try await cache.setIfAbsent(5, for: "k") == nil)
        #expect(cache.resident("k", at: .coarse)?.value == 5)
        #expect(try await lower.get("k") == 5)
    }

    @Test("above a source memory decides, and the source is not asked")
    func overSource() async throws {
        let cache = memory.compose(
            ClosureFetcher<String, Int> { _ in
                Issue.record("asked")
                return 9
            }
        )
        #expect(try await cache.setIfAbsent(1, for: "k") == nil)
        #expect(try await cache.setIfAbsent(2, for: "k") == 1)
        #expect(try await cache.compareAndSet("k", from: 1, to: 3))
        #expect(try await cache.get("k") == 3)
    }

    @Test("a level that others always change first: an error says so, and nothing was changed")
    func contended() async throws {
        try await memory.set(1, for: "k")
        let cache = Contended(base: memory)
        for body: @Sendable () async throws -> Void in [
            { _ = try await cache.setIfAbsent(2, for: "new", within: .milliseconds(5)) },
            { _ = try await cache.compareAndSet("k", from: 1, to: 2, within: .milliseconds(5)) },
            { try await cache.touch("k", within: .milliseconds(5)) },
            { try await cache.expire("k", within: .milliseconds(5)) },
        ] {
            let error = await #expect(throws: CacheError.self) { try await body() }
            #expect(error?.code == .conflict)
        }
        #expect(try await memory.get("k") == 1)
        #expect(try await memory.get("new") == nil)
    }

    @Test("where no level can compare and store an error says so")
    func notUpdatable() async throws {
        let closures = ClosureLevel<String, Int>(get: { _ in 1 }, set: { _, _ in Issue.record("set") })
        let cache = closures.normalized()
        for body: @Sendable () async throws -> Void in [
            { _ = try await cache.setIfAbsent(2, for: "k") },
            { _ = try await cache.compareAndSet("k", from: 1, to: 2) },
            { try await cache.touch("k") },
            { try await cache.expire("k") },
        ] {
            let error = await #expect(throws: CacheError.self) { try await body() }
            #expect(error?.code == .notUpdatable)
        }
    }
}

/// A level whose keys have always changed since they were read.
private struct Contended: ForwardingLevel, AtomicLevel {
    let base: MemoryLevel<String, Int>

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        try await base.entry(for: key, request)
    }

    func exchange(_ entry: Entry<Int>?, for key: String, if mark: ChangeMark) async throws -> Ticket? {
        throw CacheError.conflict
    }

    func changeLifetime(of key: String, _ change: LifetimeChange) async throws -> Bool? { throw CacheError.conflict }
}
