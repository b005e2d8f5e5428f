import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata

@Suite("Changing what is cached")
struct UpdateTests {
    struct Refusal: Error {}

    private let memory = MemoryLevel<String, Int>(limit: .entries(100))

    // MARK: Memory alone

    @Test("the old value goes in, the new one is kept and returned; nil removes, and leaves absent")
    func values() async throws {
        #expect(try await memory.update("k") { ($0 ?? 0) + 1 } == 1)
        #expect(try await memory.update("k") { ($0 ?? 0) + 1 } == 2)
        #expect(try await memory.get("k") == 2)
        #expect(try await memory.update("k") { _ in nil } == nil)
        #expect(try await memory.entry(for: "k", ReadRequest()) == nil)
        let none = try await memory.update("k") { old in
            #expect(old == nil)
            return nil
        }
        #expect(none == nil)
        #expect(try await memory.entry(for: "k", ReadRequest()) == nil)
    }

    @Test("a closure that throws changes nothing, and is not run again, whatever it throws")
    func throwing() async throws {
        try await memory.set(1, for: "k")
        await #expect(throws: Refusal.self) { try await memory.update("k") { _ in throw Refusal() } }
        var runs = 0
        let code = await errorCode {
            try await memory.update("k") { _ in
                runs += 1
                throw CacheError.conflict
            }
        }
        #expect(code == .conflict && runs == 1)
        #expect(try await memory.get("k") == 1)
    }

    @Test("a set between reading and storing is seen: the closure runs again with it")
    func conflict() async throws {
        try await memory.set(1, for: "k")
        var seen: [Int?] = []
        // The default limit would let a machine that stands still for two seconds end it.
        try await memory.update("k", within: .seconds(60)) { old in
            seen.append(old)
            if seen.count == 1 { try await memory.set(10, for: "k") }
            return (old ?? 0) + 1
        }
        #expect(seen == [1, 10])
        #expect(try await memory.get("k") == 11)
        // So are a removal, and a value where there was none.
        seen = []
        try await memory.update("k", within: .seconds(60)) { old in
            seen.append(old)
            if seen.count == 1 { try await memory.remove("k") }
            return (old ?? 0) + 1
        }
        #expect(seen == [11, nil])
        seen = []
        try await memory.update("new", within: .seconds(60)) { old in
            seen.append(old)
            if seen.count == 1 { try await memory.set(5, for: "new") }
            return (old ?? 0) + 1
        }
        #expect(seen == [nil, 5])
    }

    @Test("an update that never converges ends with an error, and the last change of others stands")
    func endless() async throws {
        var runs = 0
        let code = await errorCode {
            try await memory.update("k", within: .milliseconds(30)) { old in
                runs += 1
                try await memory.set(1_000 + runs, for: "k")
                return -1
            }
        }
        #expect(code == .conflict && runs >= 1)
        #expect(try await memory.get("k") == 1_000 + runs)
        // Without time there is one attempt.
        runs = 0
        _ = await errorCode {
            try await memory.update("k", within: .zero) { _ in
                runs += 1
                try await memory.set(0, for: "k")
                return -1
            }
        }
        #expect(runs == 1)
    }

    @Test("a task that is cancelled between two attempts ends as cancelled")
    func cancelled() async throws {
        let memory = memory
        let task = Task {
            try await memory.update("k", within: .seconds(3_600)) { old in
                try await memory.set((old ?? 0) + 1, for: "k")
                withUnsafeCurrentTask { $0?.cancel() }
                return -1
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await memory.get("k") == 1)
    }

    @Test("lifetime, tags and age are kept; a lifetime and tags that are named are taken")
    func lifetime() async throws {
        let start = MonotonicInstant.coarse
        let made = start.advanced(by: .seconds(-10))
        let entry = Entry<Int>(
            .value(1),
            freshUntil: start.advanced(by: .seconds(60)),
            staleUntil: start.advanced(by: .seconds(90)),
            storedAt: made,
            tags: ["a"]
        )
        try await memory.store(entry, for: "k")
        try await memory.update("k") { $0.map { $0 + 1 } }
        let kept = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(kept.value == 2 && kept.tags == ["a"])
        #expect(abs(kept.freshUntil.duration(to: entry.freshUntil).saturatedNanoseconds) < 100_000_000)
        #expect(abs(kept.staleUntil.duration(to: entry.staleUntil).saturatedNanoseconds) < 100_000_000)
        #expect(kept.age(at: start).map { $0 > .seconds(9) } == true)
        try await memory.update("k", lifetime: EntryLifetime(freshFor: .seconds(20)), tags: ["b"]) { $0 }
        let named = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(named.tags == ["b"] && start.duration(to: named.freshUntil) < .seconds(50))
        try await memory.invalidate(tag: "a")
        #expect(try await memory.get("k") == 2)
        // A lifetime of nothing removes.
        try await memory.update("k", lifetime: EntryLifetime(freshFor: .zero)) { $0 }
        #expect(try await memory.get("k") == nil)
        let many = (0...TagLimits.tagsPerEntry).map { "tag \($0)" }
        #expect(await errorCode { try await memory.update("k", tags: many) { _ in 1 } } == .invalidTags)
    }

    @Test("an invalidated or expired entry, and a remembered absence, count as none")
    func none() async throws {
        try await memory.set(1, for: "void", tags: ["t"])
        try await memory.invalidate(tag: "t")
        try await memory.store(Entry(.absent), for: "absent")
        let past = MonotonicInstant.coarse.advanced(by: .seconds(-1))
        try await memory.store(Entry(.value(1), freshUntil: past), for: "expired")
        for key in ["void", "absent", "expired"] {
            try await memory.update(key) { old in
                #expect(old == nil, "\(key)")
                return 7
            }
            #expect(try await memory.get(key) == 7)
        }
    }

    @Test("a tag that is invalidated during an update voids what it is made of")
    func invalidatedMeanwhile() async throws {
        try await memory.set(1, for: "k", tags: ["t"])
        var seen: [Int?] = []
        try await memory.update("k", within: .seconds(60)) { old in
            seen.append(old)
            if seen.count == 1 { try await memory.invalidate(tag: "t") }
            return (old ?? 100) + 1
        }
        #expect(seen == [1, nil])
        #expect(try await memory.get("k") == 101)
    }

    @Test("an entry that is too large is refused, and the old one stays")
    func tooLarge() async throws {
        let level = MemoryLevel<String, [Int]>(limit: .cost(1_000) { $0.count })
        try await level.set([1], for: "k")
        #expect(await errorCode { try await level.update("k") { _ in Array(repeating: 0, count: 2_000) } } == .tooLarge)
        #expect(try await level.get("k") == [1])
    }

    @Test("tasks that count together lose nothing, beside readers", arguments: [1, 3])
    func concurrent(keys: Int) async throws {
        let memory = memory
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<64 {
                group.addTask {
                    for _ in 0..<50 {
                        try await memory.update("\(task % keys)", within: .seconds(60)) { ($0 ?? 0) + 1 }
                        _ = try await memory.get("\(task % keys)")
                    }
                }
            }
            try await group.waitForAll()
        }
        var sum = 0
        for key in 0..<keys { sum += try await memory.get("\(key)") ?? 0 }
        #expect(sum == 3_200)
    }

    // MARK: Compositions

    @Test("two memories: the lower one is read, past an older value above, and both have the new one")
    func composed() async throws {
        let lower = MemoryLevel<String, Int>(limit: .entries(10))
        let cache = memory.compose(lower)
        try await cache.set(1, for: "k")
        // Another owner of the lower level.
        try await lower.set(10, for: "k")
        #expect(try await cache.get("k") == 1)
        try await cache.update("k") { ($0 ?? 0) + 1 }
        #expect(try await lower.get("k") == 11)
        #expect(try await cache.get("k") == 11)
        #expect(cache.resident("k", at: .coarse)?.value == 11)
        try await cache.update("k") { _ in nil }
        #expect(try await cache.get("k") == nil)
        #expect(try await memory.entry(for: "k", ReadRequest()) == nil)
    }

    @Test("above a source memory has the truth; what the composition has voided counts as none, and stays void")
    func overSource() async throws {
        let source = Source<String, Int>(freshness: FreshnessPolicy(freshFor: .seconds(60), jitter: 0)) { _ in 5 }
        let cache = memory.compose(source)
        #expect(try await cache.get("k") == 5)
        try await cache.update("k") { ($0 ?? 0) + 1 }
        #expect(try await cache.get("k") == 6)
        // The source is not asked.
        try await cache.update("new") { old in
            #expect(old == nil)
            return 1
        }
        #expect(try await cache.get("new") == 1)
        try await cache.set(1, for: "t", tags: ["t"])
        try await cache.invalidate(tag: "t")
        var seen: [Int?] = []
        try await cache.update("t", tags: ["u"], within: .seconds(60)) { old in
            seen.append(old)
            if seen.count == 1 { try await cache.invalidate(tag: "u") }
            return 2
        }
        #expect(seen == [nil, nil])
        #expect(try await cache.get("t") == 2)
        try await cache.update("t") { _ in nil }
        #expect(try await cache.get("t") == 5)
    }

    @Test("above a source: a removal during an update is seen")
    func removedMeanwhile() async throws {
        let cache = memory.compose(ClosureFetcher { _ in 5 })
        try await cache.set(1, for: "k")
        var seen: [Int?] = []
        try await cache.update("k", within: .seconds(60)) { old in
            seen.append(old)
            if seen.count == 1 { try await cache.remove("k") }
            return (old ?? 0) + 1
        }
        #expect(seen == [1, nil])
        #expect(try await cache.get("k") == 1)
    }

    @Test("above a source: tasks lose nothing, also where the level above loses tickets")
    func concurrentOverSource() async throws {
        let double = memory.compose(MemoryLevel<String, Int>(limit: .entries(10)))
        for (index, cache) in [
            memory.compose(ClosureFetcher { _ in nil }).normalized(),
            double.normalized(),
            MemoryLevel<String, Int>(limit: .entries(10))
                .compose(
                    MemoryLevel<String, Int>(limit: .entries(10)).compose(ClosureFetcher { _ in nil }).normalized()
                )
                .normalized(),
            MemoryLevel<String, Int>(limit: .entries(10)).normalized().compose(ClosureFetcher<String, Int> { _ in nil })
                .normalized(),
            double.compose(ClosureFetcher { _ in nil }).normalized(),
            MemoryLevel<String, Int>(limit: .entries(10)).compose(MemoryLevel<String, Int>(limit: .entries(10)))
                .normalized().compose(ClosureFetcher<String, Int> { _ in nil }).normalized(),
        ]
        .enumerated() {
            try await cache.remove("k")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        for _ in 0..<25 { try await cache.update("k", within: .seconds(60)) { ($0 ?? 0) + 1 } }
                    }
                }
                try await group.waitForAll()
            }
            let count = try await cache.get("k")
            #expect(count == 400, "\(index)")
        }
    }

    @Test("above an erased level that keeps entries and cannot compare nothing is changed")
    func erased() async throws {
        let below = PlainLevel()
        try await below.store(Entry(.value(57)), for: "k")
        let cache = MemoryLevel<String, Int>(limit: .entries(10)).compose(below.normalized())
        #expect(await errorCode { try await cache.update("k") { ($0 ?? 0) + 1 } } == .notUpdatable)
        #expect(await errorCode { _ = try await cache.setIfAbsent(1, for: "k") } == .notUpdatable)
        #expect(await errorCode { _ = try await cache.touch("k", lifetime: .unlimited) } == .notUpdatable)
        #expect(try await cache.get("k") == 57)
        #expect(below.stores == 1)
    }

    // MARK: Combinators

    @Test("combinators hand an update down, in their own keys and values")
    func combinators() async throws {
        let first = MemoryLevel<String, Int>(limit: .entries(10))
        let switched = switchLevels(first, memory) { $0.hasPrefix("a") ? .first : .second }
        let cache = switched.capped(4).pooled().timeout(.seconds(60)).conditioned { _ in true }
            .retry(RetryPolicy(times: 1))
            .transformKeys { (number: Int) in number == 0 ? "a" : "b" }
            .transformValues({ "\($0)" }, inverse: { Int($0) ?? -1 })
            .normalized()
        for number in [0, 1, 0] { try await cache.update(number) { old in "\((old.flatMap { Int($0) } ?? 0) + 1)" } }
        #expect(try await first.get("a") == 2)
        #expect(try await memory.get("b") == 1)
        #expect(try await cache.get(0) == "2")
        try await cache.update(0) { _ in nil }
        #expect(try await first.get("a") == nil)
    }

    @Test("where no level can compare and store an error says so, and the closure does not run")
    func notUpdatable() async throws {
        let closures = ClosureLevel<String, Int>(get: { _ in 1 }, set: { _, _ in })
        for cache in [
            closures.normalized(), closures.compose(ClosureFetcher { _ in 1 }).normalized(),
            ClosureFetcher<String, Int> { _ in 1 }.normalized(),
        ] {
            let code = await errorCode {
                try await cache.update("k") { _ in
                    Issue.record("asked")
                    return 1
                }
            }
            #expect(code == .notUpdatable)
        }
    }
}

/// A level of a user that keeps entries, and knows nothing of comparing.
private final class PlainLevel: CacheLevel {
    private let entries = Locked<[String: Entry<Int>]>([:])
    private let count = Locked(0)

    var stores: Int { count.withLock { $0 } }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? { entries.withLock { $0[key] } }

    func store(_ entry: Entry<Int>, for key: String) async throws {
        count.withLock { $0 += 1 }
        entries.withLock { $0[key] = entry }
    }

    func remove(_ key: String) async throws { entries.withLock { $0[key] = nil } }

    func removeAll() async throws { entries.withLock { $0 = [:] } }
}
