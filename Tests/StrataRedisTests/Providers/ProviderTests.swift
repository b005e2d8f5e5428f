import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Providers: reads and evictions", .timeLimit(.minutes(5)))
struct ProviderTests {
    private let loader = CountedLoader()

    /// Fills all records that the scopes are tried on.
    private func fill(_ cache: ProviderCache) async throws {
        for provider in [Pages.all, .filter("a"), .page("a", 1), .page("a", 2), .page("b", 1)] {
            try await cache.set(["\(provider)"], for: provider)
        }
        try await cache.set(7, for: Provider("others", key: .group("a", 1)))
    }

    /// Which of them are left.
    private func left(_ cache: ProviderCache) async throws -> [String] {
        var found: [String] = []
        for provider in [Pages.all, .filter("a"), .page("a", 1), .page("a", 2), .page("b", 1)] {
            found += try await cache.value(of: provider) ?? []
        }
        if try await cache.value(of: Provider<Int>("others", key: .group("a", 1))) == 7 { found.append("others") }
        return found
    }

    @Test(
        "A185 a record is loaded once, then memory answers, and after a restart what lies below, which memory has then",
        arguments: ProviderBacking.allCases
    )
    func loaded(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        #expect(try await cache.value(of: Pages.all) == nil)
        let (value, trace) = try await cache.valueWithTrace(of: Pages.all, orLoad: loader.load(["x"]))
        #expect(value == ["x"] && trace.origin == .source)
        let (again, second) = try await cache.valueWithTrace(of: Pages.all, orLoad: loader.failing())
        #expect(again == ["x"] && second.origin == .memory)
        let restarted = try await place.cache()
        let (below, third) = try await restarted.valueWithTrace(of: Pages.all, orLoad: loader.failing())
        #expect(below == ["x"] && third.origin != .memory && third.origin != .source)
        let (above, fourth) = try await restarted.valueWithTrace(of: Pages.all, orLoad: loader.failing())
        #expect(above == ["x"] && fourth.origin == .memory)
        #expect(loader.count == 1)
    }

    @Test(
        "A187 single values and lists, with and without the report of their source",
        arguments: ProviderBacking.allCases
    )
    func shapes(_ backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        let (one, list) = (Provider<Int>("one"), Provider<[Int]>("list"))
        for _ in 0..<2 {
            #expect(try await cache.value(of: one, orLoad: { 1 }) == 1)
            #expect(try await cache.value(of: list, orLoad: { [1, 2] }) == [1, 2])
        }
        let (single, first) = try await cache.valueWithTrace(of: one, orLoad: { 2 })
        let (several, second) = try await cache.valueWithTrace(of: list, orLoad: { [3] })
        #expect(single == 1 && first.origin == .memory)
        #expect(several == [1, 2] && second.origin == .memory)
    }

    @Test(
        "A202 a record without a key that has expired does not take those with keys along",
        arguments: ProviderBacking.allCases
    )
    func expiredAlone(_ backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        let brief = EntryLifetime(freshFor: .milliseconds(1))
        let whole = Provider<[String]>("pages", lifetime: brief)
        let keyed = [Provider<[String]>("pages", key: .key("a")), Provider<[String]>("pages", key: .group("a", 1))]
        for provider in keyed { try await cache.set(["\(provider)"], for: provider) }
        try await cache.set(["all"], for: whole)
        while try await cache.value(of: whole) != nil { try await nextTurn() }
        #expect(try await cache.value(of: whole, orLoad: loader.load(["new"])) == ["new"])
        for provider in keyed { #expect(try await cache.value(of: provider) == ["\(provider)"]) }
    }

    @Test("A193 what a caller does to a returned value does not change the record", arguments: ProviderBacking.allCases)
    func changed(_ backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        var loaded = try await cache.value(of: Pages.all, orLoad: loader.load(["x"]))
        loaded.append("mine")
        var kept = try await cache.value(of: Pages.all)
        kept?.removeAll()
        #expect(try await cache.value(of: Pages.all) == ["x"])
    }

    @Test("A210 while an evicting read loads, others see the old value", arguments: ProviderBacking.allCases)
    func duringEviction(_ backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        try await fill(cache)
        let gate = AsyncGate()
        async let evicting = cache.value(of: Pages.page("a", 1), evicting: .provider) {
            try await gate.pass()
            return ["new"]
        }
        await gate.arrivals()
        #expect(try await left(cache).count == 6)
        gate.open()
        #expect(try await evicting == ["new"])
        #expect(try await left(cache) == ["new", "others"])
    }

    @Test(
        "A211 when its loader fails the record is gone, also from below; or stays, if that is wished",
        arguments: ProviderBacking.allCases
    )
    func failedEviction(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        try await fill(cache)
        await #expect(throws: CountedLoader.Failure.self) {
            _ = try await cache.value(
                of: Pages.page("a", 1),
                evicting: .record,
                whenLoadFails: .keeps,
                orLoad: loader.failing()
            )
        }
        #expect(try await left(cache).count == 6)
        await #expect(throws: CountedLoader.Failure.self) {
            _ = try await cache.value(of: Pages.page("a", 1), evicting: .record, orLoad: loader.failing())
        }
        #expect(try await left(cache).count == 5)
        await #expect(throws: CountedLoader.Failure.self) {
            _ = try await cache.value(of: Pages.page("b", 1), evicting: .provider, orLoad: loader.failing())
        }
        #expect(try await left(cache) == ["others"])
        #expect(try await left(place.cache()) == ["others"])
        // No caller is cancelled: the loader has failed.
        try await fill(cache)
        await #expect(throws: CancellationError.self) {
            _ = try await cache.value(of: Pages.page("b", 1), evicting: .provider) { throw CancellationError() }
        }
        #expect(try await left(cache) == ["others"])
    }

    @Test(
        "A204 where stale values are allowed an evicting read whose loader fails gets the old one",
        arguments: ProviderBacking.allCases
    )
    func staleEviction(_ backing: ProviderBacking) async throws {
        var policy = ProviderPlace.plain
        policy.staleIfError = .seconds(300)
        let cache = try await ProviderPlace(backing).cache(policy)
        _ = try await cache.value(of: Pages.page("a", 1), orLoad: loader.load(["old"]))
        try await cache.set(["other"], for: Pages.page("a", 2))
        #expect(try await cache.value(of: Pages.page("a", 1), evicting: .provider, orLoad: loader.failing()) == ["old"])
        #expect(try await cache.value(of: Pages.page("a", 1)) == ["old"])
        #expect(try await cache.value(of: Pages.page("a", 2)) == ["other"])
    }

    @Test(
        "A212 A213 A214 A215 A222 each scope takes along what it names, without a loader",
        arguments: ProviderBacking.allCases
    )
    func scopes(_ backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        let all = ["all", "filter(\"a\")", "page(\"a\", 1)", "page(\"a\", 2)", "page(\"b\", 1)", "others"]
        try await fill(cache)
        #expect(try await left(cache) == all)
        try await cache.evict(.record, of: Pages.page("a", 1))
        #expect(try await left(cache) == all.filter { $0 != all[2] })
        try await fill(cache)
        try await cache.evict(.key, of: Pages.filter("a"))
        #expect(try await left(cache) == ["all", "page(\"b\", 1)", "others"])
        try await fill(cache)
        try await cache.evict(.provider, of: Pages.all)
        #expect(try await left(cache) == ["others"])
    }

    @Test(
        "A209 an evicting read loads although there is a record, and replaces it",
        arguments: ProviderBacking.allCases
    )
    func evictingRead(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        for (scope, count) in [(ProviderScope.record, 6), (.key, 4), (.provider, 2)] {
            try await fill(cache)
            #expect(
                try await cache.value(of: Pages.page("a", 2), evicting: scope, orLoad: loader.load(["new"])) == ["new"]
            )
            #expect(try await left(cache).count == count)
            let (value, trace) = try await cache.valueWithTrace(of: Pages.page("a", 2), evicting: scope) { ["newer"] }
            #expect(value == ["newer"] && trace.origin == .source)
            #expect(try await cache.value(of: Pages.page("a", 2), evicting: scope) { ["new"] } == ["new"])
            #expect(try await place.cache().value(of: Pages.page("a", 2)) == ["new"])
        }
        #expect(loader.count == 3)
    }

    @Test(
        "A216 A217 the key of a provider without one is an error, before anything is asked",
        arguments: ProviderBacking.allCases
    )
    func noKey(_ backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        try await fill(cache)
        let evicting = await #expect(throws: CacheError.self) {
            _ = try await cache.value(of: Pages.all, evicting: .key, orLoad: loader.load(["new"]))
        }
        #expect(evicting?.code == .invalidScope)
        let alone = await #expect(throws: CacheError.self) { try await cache.evict(.key, of: Pages.all) }
        #expect(alone?.code == .invalidScope)
        #expect(loader.count == 0)
        #expect(try await left(cache).count == 6)
    }

    @Test("A218 the key scope of a group is that of its key", arguments: ProviderBacking.allCases)
    func keyOfGroup(_ backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        try await fill(cache)
        try await cache.evict(.key, of: Pages.page("a", 2))
        #expect(try await left(cache) == ["all", "page(\"b\", 1)", "others"])
    }

    @Test("A220 after everything is evicted, reads with failing loaders fail", arguments: ProviderBacking.allCases)
    func cleared(_ backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        try await fill(cache)
        try await cache.clear()
        for provider in [Pages.all, .filter("a"), .page("b", 1)] {
            await #expect(throws: CountedLoader.Failure.self) {
                _ = try await cache.value(of: provider, orLoad: loader.failing())
            }
        }
    }

    @Test("A221 a scope evicts records that this process has never seen", arguments: ProviderBacking.allCases)
    func unseen(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        try await fill(place.cache())
        try await place.cache().evict(.key, of: Pages.filter("a"))
        #expect(try await left(place.cache()) == ["all", "page(\"b\", 1)", "others"])
        try await place.cache().evict(.provider, of: Pages.all)
        #expect(try await left(place.cache()) == ["others"])
    }

    @Test("a value that was being loaded when its scope was evicted is not kept", arguments: ProviderBacking.allCases)
    func evictedDuringLoad(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let gate = AsyncGate()
        async let loading = cache.value(of: Pages.page("a", 1)) {
            try await gate.pass()
            return ["before"]
        }
        await gate.arrivals()
        try await cache.evict(.provider, of: Pages.all)
        gate.open()
        #expect(try await loading == ["before"])
        #expect(try await cache.value(of: Pages.page("a", 1), orLoad: loader.load(["after"])) == ["after"])
        #expect(try await place.cache().value(of: Pages.page("a", 1)) == ["after"])
    }

    @Test(
        "what another evicts or sets while an evicting read loads does not come back, or stays",
        arguments: ProviderBacking.allCases,
        [false, true]
    )
    func changedDuringEvictingLoad(_ backing: ProviderBacking, sets: Bool) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let (gate, page) = (AsyncGate(), Pages.page("a", 1))
        try await cache.set(["first"], for: page)
        async let evicting = cache.value(of: page, evicting: .provider) {
            try await gate.pass()
            return ["before"]
        }
        await gate.arrivals()
        if sets { try await cache.set(["set"], for: page) } else { try await cache.evict(.provider, of: Pages.all) }
        gate.open()
        #expect(try await evicting == ["before"])
        #expect(try await cache.value(of: page, orLoad: loader.load(["after"])) == ["after"])
        #expect(try await place.cache().value(of: page) == ["after"])
    }

    /// What another does.
    enum Change: CaseIterable, Sendable { case evictsAll, evictsOne, sets }

    @Test(
        "what another evicts or sets after an evicting read has evicted does not come back, or stays",
        arguments: ProviderBacking.allCases,
        Change.allCases
    )
    func changedAfterEviction(_ backing: ProviderBacking, _ change: Change) async throws {
        let cache = try await ProviderPlace(backing).cache()
        let page = Pages.page("a", 1)
        try await cache.set(["first"], for: page)
        let late = ProviderCache(
            levels: interrupted(cache.levels) {
                switch change {
                case .evictsAll: try await cache.evict(.provider, of: Pages.all)
                case .evictsOne: try await cache.evict(.record, of: page)
                case .sets: try await cache.set(["set"], for: page)
                }
            }
        )
        #expect(try await late.value(of: page, evicting: .key, orLoad: loader.load(["before"])) == ["before"])
        let expected = change == .sets ? ["set"] : ["after"]
        #expect(try await cache.value(of: page, orLoad: { ["after"] }) == expected)
        #expect(loader.count == 1)
    }

    private func interrupted(
        _ levels: some ProviderCache.Levels,
        _ then: @escaping @Sendable () async throws -> Void
    ) -> any ProviderCache.Levels {
        Interrupted(levels, then)
    }

    @Test("A223 pages are independent; a second set replaces one", arguments: ProviderBacking.allCases)
    func independent(_ backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        try await fill(cache)
        try await cache.set(["second"], for: Pages.page("a", 2))
        #expect(try await cache.value(of: Pages.page("a", 2)) == ["second"])
        #expect(try await cache.value(of: Pages.page("a", 1)) == ["page(\"a\", 1)"])
    }

    @Test(
        "A236 A242 A245 A246 A247 A249 actions change one record's list, lose nothing, and begin its age anew",
        arguments: ProviderBacking.allCases
    )
    func actions(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let page = Pages.page("a", 1)
        #expect(try await cache.apply(ListActions().addFirst("1").addLast("2"), to: page) == ["1", "2"])
        try await cache.set(["other"], for: Pages.page("a", 2))
        let caches = try await [cache, place.cache()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await caches[number % 2]
                        .apply(ListActions().addLast("n\(number)"), to: page, within: .seconds(60))
                }
            }
            try await group.waitForAll()
        }
        let list = try await place.cache().value(of: page)
        #expect(list?.prefix(2) == ["1", "2"])
        #expect(Set(list ?? []).count == 22 && list?.count == 22)
        #expect(try await cache.value(of: Pages.page("a", 2)) == ["other"])
        #expect(try await cache.apply(ListActions().evictAll(), to: page) == [])
        #expect(try await place.cache().value(of: page) == [])
        // An evicted list is no list, and the new one goes with its scope as well.
        try await cache.evict(.provider, of: Pages.all)
        #expect(try await cache.apply(ListActions().addLast("new"), to: page) == ["new"])
        try await cache.evict(.key, of: page)
        #expect(try await place.cache().value(of: page) == nil)
    }

    @Test(
        "an update sees the truth, keeps what it is not told to change, and removes",
        arguments: ProviderBacking.allCases
    )
    func update(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let count = Provider<Int>("count", key: .key("k"))
        #expect(try await cache.update(count) { ($0 ?? 0) + 1 } == 1)
        #expect(try await place.cache().update(count) { ($0 ?? 0) + 1 } == 2)
        #expect(try await place.cache().value(of: count) == 2)
        // Of another type: as if it were not there.
        #expect(try await cache.update(Provider<[String]>("count", key: .key("k"))) { ($0 ?? []) + ["x"] } == ["x"])
        #expect(try await cache.update(count) { old in old == nil ? 7 : nil } == 7)
        #expect(try await cache.update(count) { old in old == 7 ? nil : 1 } == nil)
        #expect(try await place.cache().value(of: count) == nil)
    }
}

/// Levels of which tags were invalidated just now when others act.
private struct Interrupted<Base: SourcedLevel & AtomicLevel>: ForwardingLevel, SourcedLevel, AtomicLevel {
    typealias Key = Base.Key
    typealias Value = Base.Value

    let base: Base
    let then: @Sendable () async throws -> Void

    init(_ base: Base, _ then: @escaping @Sendable () async throws -> Void) {
        self.base = base
        self.then = then
    }

    func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await base.entry(for: key, request)
    }

    func invalidate(tags: [String]) async throws {
        try await base.invalidate(tags: tags)
        try await then()
    }
}
