import Strata
import StrataTesting
import Testing

@Suite("Keys transformed")
struct TransformedKeysTests {
    struct Refusal: Error, Equatable {}

    private let probe = ProbeLevel()

    /// Numbers above 9 are refused.
    private static let transform: @Sendable (Int) throws -> String = { number in
        guard number < 10 else { throw Refusal() }
        return "k\(number)"
    }

    /// The same, suspending or not.
    private func level(suspends: Bool) -> TransformedKeys<ProbeLevel, Int> {
        guard suspends else { return probe.transformKeys(Self.transform) }
        return probe.transformKeys { number in
            await Task.yield()
            return try Self.transform(number)
        }
    }

    @Test(
        "A096 the level is asked by the transformed key, and value, miss, failure and cancellation pass",
        arguments: [true, false]
    )
    func reads(suspends: Bool) async throws {
        let level = level(suspends: suspends)
        probe.put(5, for: "k1")
        #expect(try await level.get(1) == 5)
        #expect(try await level.get(2) == nil)
        #expect(probe.calls == [.get("k1"), .get("k2")])
        probe.failGets("down")
        await #expect(throws: ProbeLevel.Failure(name: "down")) { try await level.get(1) }
        probe.failGets(nil)
        let same = probe.transformKeys { (key: String) in key }
        try await expectCancellationForwarded(same, to: probe)
    }

    @Test(
        "A097 a transformer that fails: the level is not touched, and the error is its own",
        arguments: [true, false]
    )
    func refused(suspends: Bool) async {
        let level = level(suspends: suspends)
        await #expect(throws: Refusal()) { try await level.get(10) }
        await #expect(throws: Refusal()) { try await level.set(1, for: 10) }
        await #expect(throws: Refusal()) { try await level.remove(10) }
        #expect(probe.calls == [])
    }

    @Test("A098 a value is set under the transformed key, unchanged, and the outcome passes", arguments: [true, false])
    func writes(suspends: Bool) async throws {
        let level = level(suspends: suspends)
        try await level.set(7, for: 3)
        #expect(probe.calls == [.set("k3", 7)])
        probe.failSets("full")
        await #expect(throws: ProbeLevel.Failure(name: "full")) { try await level.set(7, for: 3) }
    }

    @Test("A099 clear and memory pressure are forwarded, remove goes by the transformed key", arguments: [true, false])
    func others(suspends: Bool) async throws {
        let level = level(suspends: suspends)
        try await level.clear()
        level.relieve(.critical)
        try await level.remove(4)
        #expect(probe.calls == [.removeAll, .relieve(.critical), .remove("k4")])
    }

    @Test(
        "A100 above another level a transformation that fails sends a get on; a set fails though the other was written"
    )
    func above() async throws {
        let lower = MemoryLevel<Int, Int>(limit: .entries(4))
        let cache = probe.transformKeys(Self.transform).compose(lower)
        try await lower.set(5, for: 10)
        #expect(try await cache.get(10) == 5)
        await #expect(throws: Refusal()) { try await cache.set(6, for: 10) }
        #expect(try await lower.get(10) == 6)
        #expect(probe.calls == [])
    }

    @Test("A101 in a composition every level sees only its own kind of key")
    func domainKey() async throws {
        struct Article: Hashable, Sendable {
            var id: Int
            var slug: String
        }
        let numbers = MemoryLevel<Int, String>(limit: .entries(4))
        let slugs = CallLog()
        let source = ClosureFetcher<String, String> { slug in
            slugs.add(slug)
            return "text of \(slug)"
        }
        let cache = numbers.transformKeys { (article: Article) in article.id }
            .compose(source.transformKeys { (article: Article) in article.slug })
        let article = Article(id: 7, slug: "tea")
        #expect(try await cache.get(article) == "text of tea")
        #expect(try await cache.get(article) == "text of tea")
        #expect(try await numbers.get(7) == "text of tea")
        #expect(slugs.calls == ["tea"])
    }

    @Test("a transformer in place of a closure, one way or both")
    func transformers() async throws {
        let oneWay = probe.transformKeys(OneWayTransformer<Int, String>(Self.transform))
        let twoWay = probe.transformKeys(
            TwoWayTransformer<Int, String>(Self.transform) { text in
                // Keys are never asked for in the other direction.
                Issue.record("\(text)")
                return 0
            }
        )
        for (number, level) in [oneWay, twoWay].enumerated() {
            try await level.set(number + 5, for: number)
            #expect(try await level.get(number) == number + 5)
            await #expect(throws: Refusal()) { try await level.get(10) }
        }
        #expect(probe.values == ["k0": 5, "k1": 6])
    }

    @Test("a hit in memory does not suspend when the transformer does not")
    func resident() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        try await memory.set(1, for: "k1")
        #expect(memory.transformKeys(Self.transform).resident(1, at: .now)?.value == 1)
        #expect(memory.transformKeys(Self.transform).resident(10, at: .now) == nil)
    }
}
