#if Disk
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataDisk

@Suite("Changing what is cached in memory and on disk", .timeLimit(.minutes(5)))
struct DiskChangeTests {
    struct Failure: Error {}

    private let folder: DiskFolder
    private let memory = MemoryLevel<String, [Int]>(limit: .entries(10))

    init() throws {
        folder = try DiskFolder()
    }

    private func level(_ freshness: FreshnessPolicy? = nil) -> DiskLevel<String, [Int]> {
        DiskLevel(folder.store(), namespace: "lists", freshness: freshness)
    }

    @Test(
        "A236 A237 A238 A239 A240 A241 A242 A243 A244 A245 A247 A248 each action, in memory and on disk",
        arguments: ListActionCase.all
    )
    func actions(one: ListActionCase) async throws {
        let cache = memory.compose(level())
        if let before = one.before { try await cache.set(before, for: "list") }
        #expect(try await cache.apply(one.actions, to: "list") == one.after)
        #expect(try await cache.get("list") == one.after)
        // Another process.
        #expect(try await level().get("list") == one.after)
    }

    @Test("what a drain gives up is gone from disk, also where the task that drains is cancelled")
    func cancelledDrain() async throws {
        let (disk, gate) = (level(), AsyncGate())
        let lost = Locked(0)
        let cache = disk.writingBehind(WriteBehindOptions(delay: .zero)) { _ in
            lost.withLock { $0 += 1 }
        } write: { _, _ in
            // It does not mind its cancellation.
            await Task.detached { try? await gate.pass() }.value
        }
        try await cache.set([1], for: "list")
        await gate.arrivals()
        #expect(try await level().get("list") == [1])
        let drain = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            await cache.drain(within: .zero)
        }
        await drain.value
        #expect(lost.withLock { $0 } == 1)
        #expect(try await level().get("list") == nil)
        gate.open()
    }

    @Test("A246 the age begins anew with the same lifetime, and only that key's")
    func age() async throws {
        let hand = HandClock()
        var disk = level(FreshnessPolicy(freshFor: .seconds(60), jitter: 0))
        disk.wall = hand.clock
        try await disk.set([1], for: "list")
        try await disk.set([1], for: "other")
        hand.advance(40_000)
        try await disk.update("other") { $0 }
        try await disk.apply(ListActions().addLast(2), to: "list")
        let now = hand.clock.now().monotonic
        let list = try #require(try await disk.entry(for: "list", ReadRequest()))
        #expect(list.value == [1, 2] && now.duration(to: list.freshUntil) == .seconds(60))
        #expect(list.age(at: now) == .zero)
        // An update keeps what is left, and the age.
        let other = try #require(try await disk.entry(for: "other", ReadRequest()))
        #expect(now.duration(to: other.freshUntil) == .seconds(20) && other.age(at: now) == .seconds(40))
    }

    @Test("A249 a change of another process is seen, past memory; tags stay with the list and can be named")
    func others() async throws {
        let cache = memory.compose(level())
        let other = level()
        try await cache.set([1], for: "list", tags: ["t"])
        try await other.set([1, 2], for: "list", tags: ["t"])
        #expect(try await cache.get("list") == [1])
        var seen: [[Int]?] = []
        // The default limit would let a slow disk end it before the second attempt.
        try await cache.update("list", within: .seconds(60)) { old in
            seen.append(old)
            if seen.count == 1 { try await other.apply(ListActions().addLast(3), to: "list") }
            return (old ?? []) + [4]
        }
        #expect(seen == [[1, 2], [1, 2, 3]])
        #expect(try await cache.get("list") == [1, 2, 3, 4])
        #expect(try await other.entry(for: "list", ReadRequest())?.tags == ["t"])
        try await cache.apply(ListActions().evictFirst(), to: "list", tags: ["u"])
        try await other.invalidate(tag: "t")
        #expect(try await other.get("list") == [2, 3, 4])
        try await other.invalidate(tag: "u")
        #expect(try await other.get("list") == nil)
        // What memory still has is not taken for the truth.
        try await cache.apply(ListActions().addLast(9), to: "list")
        #expect(try await cache.get("list") == [9])
        try await cache.update("list") { _ in nil }
        #expect(try await other.get("list") == nil)
        #expect(try await cache.get("list") == nil)
    }

    @Test("A249 tasks in two stores of one file lose no change")
    func concurrent() async throws {
        let caches = [memory.compose(level()), MemoryLevel<String, [Int]>(limit: .entries(10)).compose(level())]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<15 {
                        let actions = ListActions<Int>().addLast(task * 100 + number)
                        try await caches[task % 2].apply(actions, to: "list", within: .seconds(60))
                    }
                }
            }
            try await group.waitForAll()
        }
        let list = try #require(try await level().get("list"))
        #expect(list.count == 120)
        for task in 0..<8 { #expect(list.filter { $0 / 100 == task } == (0..<15).map { task * 100 + $0 }) }
    }

    @Test("a value is set where there is none or in the place of an expected one, whoever has written it")
    func conditions() async throws {
        let cache = memory.compose(level())
        let other = MemoryLevel<String, [Int]>(limit: .entries(10)).compose(level())
        #expect(try await cache.setIfAbsent([1], for: "k", tags: ["t"]) == nil)
        #expect(try await other.setIfAbsent([2], for: "k") == [1])
        #expect(try await other.compareAndSet("k", from: [2], to: [3]) == false)
        #expect(try await other.compareAndSet("k", from: [1], to: [3]))
        // What memory still has is not taken for the truth.
        #expect(try await cache.get("k") == [1])
        #expect(try await cache.compareAndSet("k", from: [1], to: [4]) == false)
        #expect(try await cache.compareAndSet("k", from: [3], to: [4]))
        #expect(try await level().entry(for: "k", ReadRequest())?.tags == ["t"])
        let caches = [cache, other]
        let answers = try await withThrowingTaskGroup(of: [Int]?.self) { group in
            for task in 0..<8 {
                group.addTask { try await caches[task % 2].setIfAbsent([task], for: "race", within: .seconds(60)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let winner = try #require(try await level().get("race"))
        #expect(answers.count { $0 == nil } == 1)
        #expect(answers.allSatisfy { $0 == nil || $0 == winner })
    }

    @Test("a value that is touched lives longer, one that is expired is stale; value, tags and age stay")
    func lifetimes() async throws {
        let hand = HandClock()
        var disk = level(FreshnessPolicy(freshFor: .seconds(60), staleIfError: .seconds(30), jitter: 0))
        disk.wall = hand.clock
        try await disk.set([1], for: "k", tags: ["t"])
        hand.advance(40_000)
        #expect(try await disk.touch("k", lifetime: EntryLifetime(freshFor: .seconds(600), staleFor: .seconds(7))))
        var now = hand.clock.now().monotonic
        let touched = try #require(try await disk.entry(for: "k", ReadRequest()))
        #expect(touched.value == [1] && touched.tags == ["t"] && touched.age(at: now) == .seconds(40))
        #expect(now.duration(to: touched.freshUntil) == .seconds(600))
        #expect(touched.freshUntil.duration(to: touched.staleUntil) == .seconds(7))
        // By the policy.
        #expect(try await disk.touch("k"))
        let renewed = try #require(try await disk.entry(for: "k", ReadRequest()))
        #expect(now.duration(to: renewed.freshUntil) == .seconds(60))
        #expect(try await disk.expire("k"))
        let expired = try #require(try await disk.entry(for: "k", ReadRequest()))
        #expect(expired.value == [1] && !expired.isFresh(at: now))
        #expect(now.duration(to: expired.staleUntil) == .seconds(30))
        hand.advance(31_000)
        now = hand.clock.now().monotonic
        #expect(try await disk.touch("k") == false)
        #expect(try await disk.entry(for: "k", ReadRequest()) == nil)
        // What was touched still bears its tags, as other processes see it.
        try await disk.set([2], for: "tagged", tags: ["t", "u"])
        #expect(try await disk.touch("tagged"))
        try await level().invalidate(tag: "u")
        #expect(try await disk.get("tagged") == nil)
        // Without a stale window expire removes.
        let plain = EntryLifetime(freshFor: .seconds(60), staleFor: .zero)
        try await disk.set([3], for: "plain", lifetime: plain)
        #expect(try await disk.expire("plain") == false)
        #expect(try await disk.entry(for: "plain", ReadRequest()) == nil)
        let newer = DiskLevel<String, [Int]>(folder.store(), namespace: "lists", codec: .cbor.schema(2))
        try await newer.set([7], for: "newer")
        #expect(await errorCode { try await disk.touch("newer") } == .codec)
        #expect(await errorCode { try await disk.expire("newer") } == .codec)
        #expect(try await newer.get("newer") == [7])
    }

    @Test("above a source the disk has the truth; what is too large, or of a newer release, changes nothing")
    func refused() async throws {
        let disk = DiskLevel<String, [Int]>(folder.store(), namespace: "lists", limit: 2_000)
        let cache = memory.compose(disk).compose(ClosureFetcher { _ in [5] }, fillWaitLimit: .seconds(60))
        #expect(try await cache.get("list") == [5])
        try await cache.apply(ListActions().addLast(6), to: "list")
        #expect(try await cache.get("list") == [5, 6])
        #expect(try await disk.get("list") == [5, 6])
        let large = Array(repeating: 1 << 40, count: 1_000)
        #expect(await errorCode { try await cache.apply(ListActions().addAllLast(large), to: "list") } == .tooLarge)
        #expect(try await cache.get("list") == [5, 6])
        let newer = DiskLevel<String, [Int]>(folder.store(), namespace: "lists", codec: .cbor.schema(2))
        try await newer.set([7], for: "list")
        #expect(await errorCode { try await disk.apply(ListActions().addLast(8), to: "list") } == .codec)
        #expect(try await newer.get("list") == [7])
        // One whose time is over holds up no other.
        try await newer.set([7], for: "over", lifetime: EntryLifetime(freshFor: .milliseconds(1), staleFor: .zero))
        try await Task.pause(for: .milliseconds(20))
        #expect(try await disk.touch("over", lifetime: EntryLifetime(freshFor: .seconds(60))) == false)
        #expect(try await disk.apply(ListActions().addLast(8), to: "over") == [8])
        // An older one's counts as none, as for a read.
        try await disk.set([1], for: "older")
        #expect(try await newer.apply(ListActions().addLast(2), to: "older") == [2])
    }

    @Test("A210 A211 a reload that fails removes the record from disk, too; until then others get it")
    func reload() async throws {
        let gate = AsyncGate()
        let cache = memory.compose(level())
            .compose(
                ClosureFetcher { _ in
                    try await gate.pass()
                    throw Failure()
                }
            )
        try await cache.set([1], for: "list")
        async let reload = Result { try await cache.reloadOrRemove("list") }
        await gate.arrivals(1)
        #expect(try await cache.get("list") == [1])
        gate.open()
        let outcome = await reload
        #expect(throws: Failure.self) { try outcome.get() }
        #expect(try await level().get("list") == nil)
        #expect(try await memory.get("list") == nil)
    }

    @Test("A249 two processes apply a thousand actions each to one list, killed among them: none is lost or doubled")
    func processes() async throws {
        let path = try InstanceProcess.builtProduct(named: "StrataDiskInstance")
        let folder = folder
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...2 {
                group.addTask {
                    try await ActionWriter.run(kills: 5) {
                        try await InstanceProcess.start(path, arguments: [folder.file, "actions", "\(writer)", "1000"])
                    }
                }
            }
            try await group.waitForAll()
        }
        let list = try #require(try await level().get("list"))
        #expect(ActionWriter.faults(in: list, writers: 1...2, count: 1_000) == [])
    }
}
#endif
