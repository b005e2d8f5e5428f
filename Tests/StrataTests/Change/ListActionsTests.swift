import Strata
import StrataTestSupport
import StrataTesting
import Testing

@Suite("Actions on cached lists")
struct ListActionsTests {
    private let cache = MemoryLevel<String, [Int]>(limit: .entries(10))

    @Test(
        "A236 A237 A238 A239 A240 A241 A242 A243 A244 A245 A247 A248 in memory, each action does what it says",
        arguments: ListActionCase.all
    )
    func actions(one: ListActionCase) async throws {
        if let before = one.before { try await cache.set(before, for: "list") }
        let other = [7]
        try await cache.set(other, for: "other")
        #expect(try await cache.apply(one.actions, to: "list") == one.after)
        #expect(try await cache.get("list") == one.after)
        #expect(try await cache.get("other") == other)
    }

    @Test("A242 all elements taken out leave an empty list, and not none")
    func empty() async throws {
        try await cache.set([1], for: "list")
        try await cache.apply(ListActions().evictAll(), to: "list")
        #expect(try await cache.get("list") == [])
    }

    @Test("A245 nothing happens before the actions are applied, and the same ones may be applied again")
    func value() async throws {
        let asked = Locked(0)
        let actions = ListActions<Int>().addLast(1)
            .evictEach { _ in
                asked.withLock { $0 += 1 }
                return false
            }
        #expect(asked.withLock { $0 } == 0)
        let more = actions.addLast(2)
        #expect(try await cache.get("a") == nil)
        #expect(try await cache.apply(actions, to: "a") == [1])
        #expect(try await cache.apply(more, to: "b") == [1, 2])
        #expect(try await cache.apply(actions, to: "a") == [1, 1])
        #expect(asked.withLock { $0 } == 4)
    }

    @Test("A246 the age of the list begins anew, with the same lifetime; tags stay")
    func age() async throws {
        let start = MonotonicInstant.coarse
        let made = start.advanced(by: .seconds(-40))
        let entry = Entry<[Int]>(
            .value([1]),
            freshUntil: made.advanced(by: .seconds(60)),
            staleUntil: made.advanced(by: .seconds(90)),
            storedAt: made,
            tags: ["t"]
        )
        try await cache.store(entry, for: "list")
        try await cache.apply(ListActions().addLast(2), to: "list")
        let found = try #require(try await cache.entry(for: "list", ReadRequest()))
        #expect(found.value == [1, 2] && found.tags == ["t"])
        // Memory keeps times a little short.
        let length = found.storedAt.duration(to: found.freshUntil)
        #expect(length <= .milliseconds(60_001) && length > .milliseconds(59_900))
        #expect(found.storedAt >= start.advanced(by: .milliseconds(-100)))
        #expect(start.duration(to: found.staleUntil) > .milliseconds(89_900))
        // Named: that and nothing else.
        try await cache.apply(
            ListActions().addLast(3),
            to: "list",
            lifetime: EntryLifetime(freshFor: .seconds(20)),
            tags: []
        )
        let named = try #require(try await cache.entry(for: "list", ReadRequest()))
        #expect(named.tags.isEmpty && start.duration(to: named.freshUntil) < .seconds(50))
    }

    @Test("A249 tasks that change one list at the same time lose no change")
    func concurrent() async throws {
        let cache = cache
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<32 {
                group.addTask {
                    for number in 0..<20 {
                        try await cache.apply(
                            ListActions().addLast(task * 100 + number),
                            to: "list",
                            within: .seconds(60)
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        let list = try #require(try await cache.get("list"))
        #expect(list.count == 640)
        for task in 0..<32 {
            #expect(list.filter { $0 / 100 == task } == (0..<20).map { task * 100 + $0 })
        }
    }
}
