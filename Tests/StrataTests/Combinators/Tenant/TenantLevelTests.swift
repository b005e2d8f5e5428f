import StrataTesting
import Testing

@testable import Strata

@Suite("Tenants of one cache", .timeLimit(.minutes(5)))
struct TenantLevelTests {
    private typealias Shared = Composed<MemoryLevel<TenantKey<Int>, String>, Source<TenantKey<Int>, String>>

    private func shared() -> Shared {
        MemoryLevel(limit: .entries(1_000)).compose(Source { "\($0.tenant) \($0.key)" })
    }

    @Test("each tenant has values of its own, from a source that knows whom it asks for")
    func separate() async throws {
        let cache = shared()
        let (acme, globe) = (cache.tenant("acme"), cache.tenant("globe"))
        #expect(try await acme.get(1) == "acme 1")
        #expect(try await globe.get(1) == "globe 1")
        try await acme.set("changed", for: 1)
        #expect(try await acme.get(1) == "changed")
        #expect(try await globe.get(1) == "globe 1")
        #expect(try await acme.get([1, 2]) == ["changed", "acme 2"])
        try await acme.remove(1)
        #expect(try await acme.get(1) == "acme 1")
        #expect(cache.upper.statistics.entries == 3)
    }

    @Test("clear voids what the tenant has, set or fetched, and nothing of another")
    func clear() async throws {
        let cache = shared()
        let (acme, globe) = (cache.tenant("acme"), cache.tenant("globe"))
        try await acme.set("set", for: 1)
        try await acme.set("tagged", for: 2, tags: ["red"])
        try await globe.set("set", for: 1)
        _ = try await (acme.get(3), globe.get(3))
        try await acme.clear()
        #expect(acme.resident(1, at: .now) == nil)
        #expect(acme.resident(2, at: .now) == nil)
        #expect(acme.resident(3, at: .now) == nil)
        #expect(globe.resident(1, at: .now)?.value == "set")
        #expect(globe.resident(3, at: .now)?.value == "globe 3")
        #expect(try await acme.get(1) == "acme 1")
    }

    @Test("a closure's answers are the tenant's, and so are the tags that a read names")
    func closure() async throws {
        let cache = MemoryLevel<TenantKey<Int>, String>(limit: .entries(10))
            .compose(ClosureFetcher { (key: TenantKey<Int>) in "\(key.tenant) \(key.key)" })
        let (acme, globe) = (cache.tenant("acme"), cache.tenant("globe"))
        for key in 1...2 { _ = try await (acme.get(key, ReadOptions(tags: key == 2 ? ["red"] : [])), globe.get(key)) }
        try await cache.invalidate(tag: "red")
        #expect(acme.resident(2, at: .now) != nil)
        try await acme.invalidate(tag: "red")
        #expect(acme.resident(2, at: .now) == nil && acme.resident(1, at: .now) != nil)
        try await acme.clear()
        #expect(acme.resident(1, at: .now) == nil && globe.resident(1, at: .now) != nil)
    }

    @Test(
        "of tenants within a tenant each has its own, and the outer one all of theirs, set or fetched",
        arguments: [false, true]
    )
    func within(isSet: Bool) async throws {
        let cache = MemoryLevel<TenantKey<TenantKey<Int>>, String>(limit: .entries(100))
            .compose(
                Source { key, _ in .value("\(key.key.tenant) \(key.key.key)", tags: key.key.key == 2 ? ["red"] : []) }
            )
        let (acme, globe) = (cache.tenant("acme"), cache.tenant("globe"))
        let parts = ["berlin", "paris"].map { acme.tenant($0) } + [globe.tenant("berlin")]
        func fill() async throws {
            for part in parts {
                for key in 1...2 {
                    if isSet { try await part.set("set", for: key, tags: key == 2 ? ["red"] : []) }
                    _ = try await part.get(key)
                }
            }
        }
        /// Which of the keys of each part are there.
        func there() -> [[Int]] { parts.map { part in (1...2).filter { part.resident($0, at: .now) != nil } } }
        try await fill()
        try await parts[0].invalidate(tag: "red")
        #expect(there() == [[1], [1, 2], [1, 2]])
        try await fill()
        try await parts[0].clear()
        #expect(there() == [[], [1, 2], [1, 2]])
        try await fill()
        try await acme.clear()
        #expect(there() == [[], [], [1, 2]])
    }

    @Test("what a source finds unchanged keeps the tags of tenants within a tenant")
    func unchangedWithin() async throws {
        let cache = MemoryLevel<TenantKey<TenantKey<Int>>, String>(limit: .entries(100))
            .compose(Source { (_: TenantKey<TenantKey<Int>>, _: FetchContext<String>) in .notModified() })
        let part = cache.tenant("acme").tenant("berlin")
        try await part.set("set", for: 1, tags: ["red"])
        #expect(try await part.get(1, .reload) == "set")
        let tags = try #require(try await cache.entry(for: TenantKey("acme", TenantKey("berlin", 1)), ReadRequest()))
            .tags
        #expect(tags == ["tenant:acme", "tenant:acme:tenant:berlin", "tenant:acme:tenant:berlin:red"])
    }

    @Test("a tag that is called as that of all voids all; one that begins with a joining character stays itself")
    func oddTags() async throws {
        let cache = shared()
        let acme = cache.tenant("acme")
        for key in 1...2 { try await acme.set("set", for: key, tags: key == 1 ? ["tenant:acme"] : ["\u{301}red"]) }
        try await acme.update(2) { _ in "again" }
        try await acme.invalidate(tag: "\u{301}red")
        #expect(acme.resident(2, at: .now) == nil && acme.resident(1, at: .now) != nil)
        try await acme.invalidate(tag: "tenant:acme")
        #expect(acme.resident(1, at: .now) == nil)
    }

    @Test("what was set past the part, and a source calls unchanged, is the tenant's from then on")
    func unchanged() async throws {
        let cache = MemoryLevel<TenantKey<Int>, String>(limit: .entries(10))
            .compose(Source<TenantKey<Int>, String> { _, _ in .notModified() })
        let acme = cache.tenant("acme")
        try await cache.set("set", for: TenantKey("acme", 1))
        #expect(try await acme.get(1, .reload) == "set")
        try await acme.clear()
        #expect(acme.resident(1, at: .now) == nil)
    }

    /// What lies between memory and the part of a tenant.
    enum Between: CaseIterable {
        case nothing
        /// The cache below hears of changes.
        case gate
        /// It does, and the part has a level to fall back on.
        case fallback
    }

    @Test(
        "memory above a tenant's part hears of its tags and its clears, whoever voids them",
        arguments: Between.allCases
    )
    func memoryAbove(_ between: Between) async throws {
        let below = MemoryLevel<TenantKey<Int>, String>(limit: .entries(100))
        let answers = Source<TenantKey<Int>, String> { key, _ in .value("\(key.tenant) \(key.key)", tags: ["red"]) }
        let isGated = between != .nothing
        let shared =
            isGated ? AnyLevel(below.compose(Gated(base: answers, own: FillGate()))) : AnyLevel(below.compose(answers))
        let acme: TenantLevel<AnyLevel<TenantKey<Int>, String>, Int> = shared.tenant("acme")
        let part =
            between == .fallback
            ? AnyLevel(acme.recover(with: MemoryLevel<Int, String>(limit: .entries(100)))) : AnyLevel(acme)
        let cache = MemoryLevel<Int, String>(limit: .entries(100)).compose(part)
        func fill() async throws {
            try await cache.set("set", for: 1)
            try await cache.set("tagged", for: 2, tags: ["red"])
            #expect(try await cache.get(3) == "acme 3")
        }
        func held() -> [Int] { [1, 2, 3].filter { cache.resident($0, at: .coarse) != nil } }
        try await fill()
        #expect(held() == [1, 2, 3])
        try await cache.invalidate(tag: "red")
        #expect(held() == [1])
        try await cache.clear()
        #expect(held() == [])
        guard isGated else { return }
        // By another part of the same level, as another instance would.
        try await fill()
        try await acme.invalidate(tag: "red")
        #expect(held() == [1])
        try await acme.clear()
        #expect(held() == [])
    }

    /// A level that hears of changes.
    private struct Gated<Base: CacheLevel>: ForwardingLevel {
        typealias Key = Base.Key
        typealias Value = Base.Value
        let base: Base
        let own: FillGate

        var gate: FillGate? { own }

        func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
            try await base.entry(for: key, request)
        }

        func invalidate(tags: [String]) async throws {
            own.void(tags: tags)
            try await base.invalidate(tags: tags)
        }
    }

    @Test("a tag is the tenant's, whether a set or a source has given it")
    func tags() async throws {
        let cache = MemoryLevel<TenantKey<Int>, String>(limit: .entries(100))
            .compose(Source { key, _ in .value("\(key.tenant) \(key.key)", tags: ["fetched"]) })
        let (acme, globe) = (cache.tenant("acme"), cache.tenant("globe"))
        for tenant in [acme, globe] {
            try await tenant.set("set", for: 1, tags: ["red"])
            _ = try await tenant.get(2)
        }
        try await acme.invalidate(tag: "red")
        try await acme.invalidate(tag: "fetched")
        #expect(acme.resident(1, at: .now) == nil && acme.resident(2, at: .now) == nil)
        #expect(globe.resident(1, at: .now) != nil && globe.resident(2, at: .now) != nil)
        // Nor is a tag of the cache a tenant's.
        try await cache.invalidate(tags: ["red", "fetched"])
        #expect(globe.resident(1, at: .now) != nil && globe.resident(2, at: .now) != nil)
    }

    @Test("a source with the call, and its tags, are the tenant's as well")
    func perCall() async throws {
        let cache = MemoryLevel<TenantKey<Int>, String>(limit: .entries(100)).compose(Source.perCall())
        let (acme, globe) = (cache.tenant("acme"), cache.tenant("globe"))
        #expect(try await acme.get(1) { "for acme" } == "for acme")
        #expect(try await globe.get(1) { _ in .value("for globe", tags: ["red"]) } == "for globe")
        #expect(try await acme.get(1) == "for acme")
        try await acme.invalidate(tag: "red")
        #expect(globe.resident(1, at: .now) != nil)
        try await globe.clear()
        #expect(globe.resident(1, at: .now) == nil && acme.resident(1, at: .now) != nil)
    }

    @Test("the tags that a read gives to what it fetches are the tenant's")
    func readTags() async throws {
        let cache = shared()
        let (acme, globe) = (cache.tenant("acme"), cache.tenant("globe"))
        for tenant in [acme, globe] { _ = try await tenant.get(1, ReadOptions(tags: ["campaign"])) }
        try await cache.invalidate(tag: "campaign")
        #expect(acme.resident(1, at: .now) != nil && globe.resident(1, at: .now) != nil)
        try await acme.invalidate(tag: "campaign")
        #expect(acme.resident(1, at: .now) == nil && globe.resident(1, at: .now) != nil)
        try await globe.clear()
        #expect(globe.resident(1, at: .now) == nil)
    }

    @Test("an update keeps the tags, and the tenant's own among them")
    func update() async throws {
        let acme = shared().tenant("acme")
        try await acme.set("a", for: 1, tags: ["red"])
        for letter in ["b", "c"] { try await acme.update(1) { ($0 ?? "") + letter } }
        #expect(try await acme.get(1) == "abc")
        try await acme.invalidate(tag: "red")
        #expect(acme.resident(1, at: .now) == nil)
        try await acme.update(2) { _ in "new" }
        #expect(acme.resident(2, at: .now)?.value == "new")
        try await acme.clear()
        #expect(acme.resident(2, at: .now) == nil)
    }

    @Test("memory above a tenant's part is voided by the tenant's tags, also when they come from below")
    func memoryAbove() async throws {
        let cache = shared()
        let acme = cache.tenant("acme")
        let above = MemoryLevel<Int, String>(limit: .entries(10)).compose(acme)
        try await acme.set("old", for: 1, tags: ["red"])
        #expect(try await above.get(1) == "old")
        try await above.invalidate(tag: "red")
        #expect(try await above.get(1) == "acme 1")
    }

    @Test("memory above a pair of tenants' levels forgets what either keeps by a tag")
    func pair() async throws {
        let (one, two) = (shared().tenant("acme"), shared().tenant("acme"))
        let above = MemoryLevel<Int, String>(limit: .entries(10)).compose(one.recover(with: two))
        try await one.set("old", for: 1, tags: ["red"])
        #expect(try await above.get(1) == "old")
        try await above.invalidate(tag: "red")
        #expect(try await above.get(1) == "acme 1")
    }

    @Test("no tenant and key look like others, whatever is in them")
    func bytes() {
        let parts = ["a", "a:b", "b", "%", "%3A", ":", "", "é", "a%3Ab"]
        var keys: [[UInt8]: TenantKey<String>] = [:]
        var tags: [String: [String]] = [:]
        for tenant in parts {
            for key in parts {
                let key = TenantKey(tenant, key)
                #expect(keys.updateValue(key, forKey: key.keyBytes) == nil, "\(key)")
                tags[TenantTags(tenant).stored(key.key), default: []].append("\(tenant) \(key.key)")
            }
        }
        #expect(tags.values.allSatisfy { $0.count == 1 })
        #expect(String(decoding: TenantKey("acme", 7).keyBytes, as: UTF8.self) == "acme:7")
    }

    @Test("a part is a level like any other, but for the form of its tags")
    func conformance() async throws {
        let suite = CacheLevelConformance {
            MemoryLevel<TenantKey<String>, String>(limit: .entries(1_000)).tenant("acme")
        }
        // But tags come back as they are stored: levels above know by them what voids an entry.
        let tags: Set = [
            "tags are kept", "an absence goes with its tag",
            "a value that is touched gets another lifetime, and nothing else",
        ]
        let findings = await suite.run()
        #expect(Set(findings.map(\.check)) == tags, "\(findings)")
    }
}
