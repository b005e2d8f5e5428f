import Strata
import StrataTesting
import Testing

@Suite("Values transformed")
struct TransformedValuesTests {
    enum Refusal: Error, Equatable { case out, back }

    private let probe = ProbeLevel()

    /// Numbers and their texts; negative numbers are refused on the way out, empty texts on the way back.
    private static func out(_ number: Int) throws -> String {
        guard number >= 0 else { throw Refusal.out }
        return "v\(number)"
    }

    private static func back(_ text: String) throws -> Int {
        guard let number = Int(text.dropFirst()) else { throw Refusal.back }
        return number
    }

    private func level(suspends: Bool) -> TransformedValues<ProbeLevel, String> {
        guard suspends else {
            return probe.transformValues(
                TwoWayTransformer {
                    try Self.out($0)
                } inverse: {
                    try Self.back($0)
                }
            )
        }
        return probe.transformValues(
            TwoWayTransformer { number in
                await Task.yield()
                return try Self.out(number)
            } inverse: { text in
                await Task.yield()
                return try Self.back(text)
            }
        )
    }

    /// Only the key `open` has values, and only it may be written.
    private func keyAware() -> TransformedValues<ProbeLevel, String> {
        probe.transformValues(
            KeyAwareTwoWayTransformer { key, number in
                guard key == "open" else { throw Refusal.out }
                return "\(key)=" + (try Self.out(number))
            } inverse: { key, text in
                guard key == "open" else { throw Refusal.back }
                return try Self.back(text)
            }
        )
    }

    @Test(
        "A102 the level's value is transformed; its misses, failures and cancellations pass",
        arguments: [true, false]
    )
    func reads(suspends: Bool) async throws {
        let level = level(suspends: suspends)
        probe.put(5, for: "k")
        #expect(try await level.get("k") == "v5")
        #expect(try await level.get("none") == nil)
        probe.failGets("down")
        await #expect(throws: ProbeLevel.Failure(name: "down")) { try await level.get("k") }
        probe.failGets(nil)
        let same = probe.transformValues(
            TwoWayTransformer<Int, Int> {
                $0
            } inverse: {
                $0
            }
        )
        try await expectCancellationForwarded(same, to: probe)
    }

    @Test(
        "A103 a transformation that fails ends the get with its error, after the level was asked",
        arguments: [true, false]
    )
    func outRefused(suspends: Bool) async {
        probe.put(-1, for: "k")
        await #expect(throws: Refusal.out) { try await level(suspends: suspends).get("k") }
        #expect(probe.calls == [.get("k")])
    }

    @Test(
        "A104 a set transforms back first, the level gets the result, and its outcome passes",
        arguments: [true, false]
    )
    func writes(suspends: Bool) async throws {
        let level = level(suspends: suspends)
        try await level.set("v7", for: "k")
        #expect(probe.calls == [.set("k", 7)])
        probe.failSets("full")
        await #expect(throws: ProbeLevel.Failure(name: "full")) { try await level.set("v7", for: "k") }
    }

    @Test("A105 a transformation back that fails: the level is not touched", arguments: [true, false])
    func backRefused(suspends: Bool) async {
        await #expect(throws: Refusal.back) { try await level(suspends: suspends).set("", for: "k") }
        #expect(probe.calls == [])
    }

    @Test("A106 clear, memory pressure and remove are forwarded", arguments: [true, false])
    func others(suspends: Bool) async throws {
        let level = level(suspends: suspends)
        try await level.clear()
        level.relieve(.critical)
        try await level.remove("k")
        #expect(probe.calls == [.removeAll, .relieve(.critical), .remove("k")])
    }

    @Test("A107 a fetcher takes a one-way transformer; whichever fails, its error is the caller's")
    func fetcher() async throws {
        struct Down: Error {}
        let fetcher = ClosureFetcher<Int, Int> { key in
            if key == 0 { throw Down() }
            return key
        }
        let level = fetcher.transformValues(OneWayTransformer { try Self.out($0) })
        #expect(try await level.get(3) == "v3")
        await #expect(throws: Refusal.out) { try await level.get(-3) }
        await #expect(throws: Down.self) { try await level.get(0) }
        try await level.set("anything", for: 1)
    }

    @Test("a fetcher takes a closure that suspends, and a transformer with the key in hand")
    func fetcherForms() async throws {
        let fetcher = ClosureFetcher<Int, Int> { key in key * 10 }
        let suspending = fetcher.transformValues { (number: Int) async throws -> String in
            await Task.yield()
            return try Self.out(number)
        }
        #expect(try await suspending.get(3) == "v30")
        await #expect(throws: Refusal.out) { try await suspending.get(-3) }
        let keyAware = fetcher.transformValues(
            KeyAwareTransformer<Int, Int, String> { key, number in "\(key)=" + (try Self.out(number)) }
        )
        #expect(try await keyAware.get(3) == "3=v30")
        await #expect(throws: Refusal.out) { try await keyAware.get(-3) }
    }

    @Test("A108 a transformer that suspends holds up its own key only")
    func suspends() async throws {
        let gate = AsyncGate()
        let level = probe.transformValues(
            TwoWayTransformer<Int, Int> { number in
                if number == 1 { try await gate.pass() }
                return number
            } inverse: {
                $0
            }
        )
        probe.put(1, for: "slow")
        probe.put(2, for: "fast")
        let slow = Task { try await level.get("slow") }
        await gate.arrivals()
        #expect(try await level.get("fast") == 2)
        gate.open()
        #expect(try await slow.value == 1)
    }

    // MARK: With the key in hand

    @Test("A115 the level is asked first, and its value transformed with the key in hand; its failures pass")
    func keyAwareReads() async throws {
        probe.put(5, for: "open")
        #expect(try await keyAware().get("open") == "open=v5")
        #expect(try await keyAware().get("closed") == nil)
        probe.failGets("down")
        await #expect(throws: ProbeLevel.Failure(name: "down")) { try await keyAware().get("open") }
    }

    @Test("A116 a key or a value that it rejects ends the get with its error")
    func keyAwareOutRefused() async {
        probe.put(5, for: "closed")
        probe.put(-5, for: "open")
        await #expect(throws: Refusal.out) { try await keyAware().get("closed") }
        await #expect(throws: Refusal.out) { try await keyAware().get("open") }
        #expect(probe.gets == 2)
    }

    @Test("A117 a set that it accepts reaches the level under the same key, and the outcome passes")
    func keyAwareWrites() async throws {
        try await keyAware().set("v7", for: "open")
        #expect(probe.calls == [.set("open", 7)])
        probe.failSets("full")
        await #expect(throws: ProbeLevel.Failure(name: "full")) { try await keyAware().set("v7", for: "open") }
        probe.failSets(nil)
        let gate = AsyncGate()
        probe.holdSets(gate)
        let level = keyAware()
        let write = Task { try await level.set("v8", for: "open") }
        await gate.arrivals()
        write.cancel()
        await #expect(throws: CancellationError.self) { try await write.value }
    }

    @Test("A118 a set that it rejects does not reach the level; clear and memory pressure are forwarded")
    func keyAwareBackRefused() async throws {
        await #expect(throws: Refusal.back) { try await keyAware().set("v7", for: "closed") }
        #expect(probe.calls == [])
        try await keyAware().clear()
        keyAware().relieve(.moderate)
        #expect(probe.calls == [.removeAll, .relieve(.moderate)])
    }

    @Test("a set closes the fetch that runs below: who misses later does not join it")
    func setBeside() async throws {
        let (memory, source, gate) = (MemoryLevel<String, Int>(limit: .entries(16)), ToldSource(), AsyncGate())
        source.hold(gate)
        let cache = memory.compose(source.level().transformValues(OneWayTransformer { $0.count }))
        let first = Task { try await cache.get("k") }
        await gate.arrivals()
        try await cache.set(1, for: "k")
        // As by an eviction.
        try await memory.remove("k")
        source.answer(.value("new"))
        source.hold(nil)
        let second = Task { try await cache.get("k") }
        // Time enough to join what runs, if it may.
        for _ in 0..<1_000 { try await nextTurn() }
        gate.open()
        #expect(try await second.value == 3)
        #expect(try await first.value == 5)
    }
}
