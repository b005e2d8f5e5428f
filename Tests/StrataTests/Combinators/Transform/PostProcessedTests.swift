import Strata
import StrataTesting
import Testing

@Suite("Values processed on their way out")
struct PostProcessedTests {
    struct Refusal: Error, Equatable {}

    private let probe = ProbeLevel()

    private func doubling(suspends: Bool) -> PostProcessed<ProbeLevel> {
        guard suspends else {
            return probe.postProcess { value in
                guard value >= 0 else { throw Refusal() }
                return value * 2
            }
        }
        return probe.postProcess { value in
            await Task.yield()
            guard value >= 0 else { throw Refusal() }
            return value * 2
        }
    }

    @Test(
        "A109 the processed value is returned; processing that fails ends the get; failures pass unprocessed",
        arguments: [true, false]
    )
    func reads(suspends: Bool) async throws {
        let level = doubling(suspends: suspends)
        probe.put(4, for: "k")
        probe.put(-1, for: "bad")
        #expect(try await level.get("k") == 8)
        #expect(try await level.get("none") == nil)
        await #expect(throws: Refusal()) { try await level.get("bad") }
        probe.failGets("down")
        await #expect(throws: ProbeLevel.Failure(name: "down")) { try await level.get("k") }
    }

    @Test("a source is told of no old value that was processed already, so that nothing is processed twice")
    func unchanged() async throws {
        let olds = Locked<[String?]>([])
        let policy = FreshnessPolicy(
            freshFor: .milliseconds(1),
            staleIfError: .seconds(600),
            jitter: 0,
            earlyRefresh: 0
        )
        func source() -> Source<String, String> {
            Source(freshness: policy) { _, context in
                olds.withLock { $0.append(context.old) }
                return context.old == nil ? .value("abc") : .notModified()
            }
        }
        let memory = MemoryLevel<String, String>(limit: .entries(10))
        let shown = memory.compose(source().postProcess { $0 + "!" })
        for _ in 0..<3 { #expect(try await shown.get("k", .reload) == "abc!") }
        #expect(olds.withLock { $0 } == [nil, nil, nil])
        // One that can be undone gives the source the value in the source's own form.
        olds.withLock { $0 = [] }
        let backwards = TwoWayTransformer<String, String> {
            String($0.reversed())
        } inverse: {
            String($0.reversed())
        }
        let other = MemoryLevel<String, String>(limit: .entries(10))
        let reversed = other.compose(source().transformValues(backwards))
        for _ in 0..<3 { #expect(try await reversed.get("k", .reload) == "cba") }
        #expect(olds.withLock { $0 } == [nil, "abc", "abc"])
    }

    @Test("A110 what is set is stored as it is; everything but reads is forwarded", arguments: [true, false])
    func writes(suspends: Bool) async throws {
        try await expectWritesForwarded(doubling(suspends: suspends), to: probe)
    }

    @Test("A111 of two, the caller sees the second applied to the first's result")
    func order() async throws {
        probe.put(3, for: "k")
        #expect(try await probe.postProcess { $0 + 1 }.postProcess { $0 * 10 }.get("k") == 40)
        #expect(try await probe.postProcess { $0 * 10 }.postProcess { $0 + 1 }.get("k") == 31)
    }

    @Test("A112 on the lower level the processed value is written back; outside, only the caller sees it")
    func composed() async throws {
        probe.put(3, for: "k")
        let inside = MemoryLevel<String, Int>(limit: .entries(4))
        #expect(try await inside.compose(probe.postProcess { $0 * 2 }).get("k") == 6)
        #expect(try await inside.get("k") == 6)
        let outside = MemoryLevel<String, Int>(limit: .entries(4))
        #expect(try await outside.compose(probe).postProcess { $0 * 2 }.get("k") == 6)
        #expect(try await outside.get("k") == 3)
    }

    @Test("A113 with the key in hand it may change, keep or reject a value")
    func keyAware() async throws {
        for key in ["change", "keep", "reject"] { probe.put(1, for: key) }
        let level = probe.postProcessEntries { key, value in
            if key == "reject" { throw Refusal() }
            return key == "change" ? value + 1 : value
        }
        #expect(try await level.get("change") == 2)
        #expect(try await level.get("keep") == 1)
        await #expect(throws: Refusal()) { try await level.get("reject") }
    }

    @Test("A114 what it rejects, by key or by value, does not touch set, clear and memory pressure")
    func keyAwareWrites() async throws {
        let level = probe.postProcessEntries { (_: String, _: Int) -> Int in throw Refusal() }
        try await expectWritesForwarded(level, to: probe)
        probe.put(1, for: "k")
        await #expect(throws: Refusal()) { try await level.get("k") }
        let byValue = probe.postProcessEntries { (_: String, value: Int) -> Int in
            if value == 1 { throw Refusal() }
            return value
        }
        await #expect(throws: Refusal()) { try await byValue.get("k") }
    }

    @Test("a transformer processes as a closure does")
    func transformers() async throws {
        probe.put(4, for: "k")
        let doubling = OneWayTransformer<Int, Int> { $0 * 2 }
        let tripling = OneWayTransformer<Int, Int> { value in
            await Task.yield()
            return value * 3
        }
        #expect(try await probe.postProcess(doubling).get("k") == 8)
        #expect(try await probe.postProcess(tripling).get("k") == 12)
        #expect(probe.values == ["k": 4])
    }

    @Test("with the key in hand, a closure that suspends and a transformer process as well")
    func keyAwareForms() async throws {
        probe.put(4, for: "abc")
        probe.put(1, for: "reject")
        let adding = probe.postProcessEntries { key, value in
            await Task.yield()
            if key == "reject" { throw Refusal() }
            return key.count + value
        }
        let multiplying = probe.postProcessEntries(
            KeyAwareTransformer<String, Int, Int> { key, value in
                if key == "reject" { throw Refusal() }
                return key.count * value
            }
        )
        #expect(try await adding.get("abc") == 7)
        #expect(try await multiplying.get("abc") == 12)
        for level in [adding, multiplying] {
            await #expect(throws: Refusal()) { try await level.get("reject") }
        }
        #expect(probe.values == ["abc": 4, "reject": 1])
    }

    @Test("a hit in memory does not suspend when the processor does not")
    func resident() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        try await memory.set(2, for: "k")
        #expect(memory.postProcess { $0 * 2 }.resident("k", at: .now)?.value == 4)
        #expect(memory.postProcess { _ in throw Refusal() }.resident("k", at: .now) == nil)
        #expect(memory.postProcess(OneWayTransformer<Int, Int> { $0 * 3 }).resident("k", at: .now)?.value == 6)
    }
}
