import StrataTesting
import Testing

@testable import Strata

@Suite("What one read says of its fetch, in one process", .timeLimit(.minutes(5)))
struct FetchOptionsTests {
    private struct Failure: Error {}

    /// A source whose fetches stop at a gate, the first perhaps at another one, and which counts them.
    private final class Held: Sendable {
        private let state = Locked((calls: 0, value: "value"))
        let gate = AsyncGate()
        let next: AsyncGate?

        init(next: AsyncGate? = nil) { self.next = next }

        var calls: Int { state.withLock { $0.calls } }

        func set(_ value: String) { state.withLock { $0.value = value } }

        func fetch() async throws -> String {
            let (value, isFirst) = state.withLock { state in
                state.calls += 1
                return (state.value, state.calls == 1)
            }
            try await (isFirst ? gate : next ?? gate).pass()
            return value
        }
    }

    private let memory = MemoryLevel<String, String>(limit: .entries(16))
    private let held = Held()

    private func cache(_ policy: FreshnessPolicy = FreshnessPolicy()) -> Composed<
        MemoryLevel<String, String>, Source<String, String>
    > {
        memory.compose(Source(freshness: policy) { [held] _, _ in .value(try await held.fetch(), tags: ["own"]) })
    }

    @Test("what says nothing is an ordinary read; what says something is not, and is equal where it says the same")
    func values() {
        #expect(ReadOptions() == .ordinary && ReadRequest(options: ReadOptions(tags: [])).isShareable)
        var options = ReadOptions(tags: ["a"])
        #expect(options != .ordinary && options == ReadOptions(tags: ["a"]) && options != ReadOptions(tags: ["b"]))
        #expect(options.hashValue == ReadOptions(tags: ["a"]).hashValue)
        options.tags = []
        #expect(options == .ordinary)
        options.softTimeout = .seconds(1)
        options.hardTimeout = .seconds(2)
        options.priority = .low
        options.lifetime = EntryLifetime(freshFor: .seconds(3))
        options.waitsForOthers = false
        let same = ReadOptions(
            softTimeout: .seconds(1),
            hardTimeout: .seconds(2),
            priority: .low,
            lifetime: EntryLifetime(freshFor: .seconds(3)),
            waitsForOthers: false
        )
        #expect(options == same && options.with(staleness: .never).hardTimeout == .seconds(2))
        #expect(!ReadRequest(options: options).isShareable)
        options.hardTimeout = nil
        #expect(options != same && options.softTimeout == .seconds(1))
        // A read is copied at every level.
        #expect(MemoryLayout<ReadOptions>.size <= 56)
    }

    @Test("a hard timeout ends the wait of this read, and not the fetch", arguments: [false, true])
    func hard(isAlone: Bool) async throws {
        let cache = cache(FreshnessPolicy(hardTimeout: nil))
        let options = ReadOptions(hardTimeout: .milliseconds(1), waitsForOthers: !isAlone)
        let error = await #expect(throws: CacheError.self) { try await cache.get("k", options) }
        #expect(error?.code == .timeout && held.calls <= 1)
        // The next read joins the fetch that has not ended.
        let next = Task { try await cache.get("k") }
        // So does what fills memory.
        while cache.lower.waiting < 2 { try await nextTurn() }
        held.gate.open()
        #expect(try await next.value == "value")
        #expect(held.calls == 1)
    }

    @Test("a soft timeout ends the wait where there is a stale value, with no timeout in the policy")
    func soft() async throws {
        let cache = cache(FreshnessPolicy(staleIfError: .seconds(60), hardTimeout: nil))
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        #expect(try await cache.get("k", ReadOptions(softTimeout: .milliseconds(1))) == "old")
        held.gate.open()
        await cache.drain(within: .seconds(30))
        #expect(held.calls == 1)
    }

    @Test("the fetch has the priority that the read says, until one of higher priority joins")
    func priority() async throws {
        let seen = AsyncGate()
        let source = Source<String, TaskPriority> { _ in
            let first = Task.currentPriority
            try await seen.pass()
            return first
        }
        let cache = MemoryLevel<String, TaskPriority>(limit: .entries(2)).compose(source)
        let read = Task(priority: .high) { try await cache.get("k", ReadOptions(priority: .background)) }
        await seen.arrivals()
        seen.open()
        #expect(try await read.value == .background)
        #expect(
            try await Task(priority: .low) { try await cache.get("l", ReadOptions(priority: .high)) }.value == .high
        )
    }

    @Test("the read's tags stand beside the source's, and its lifetime in the place of the source's")
    func tagsAndLifetime() async throws {
        held.gate.open()
        let cache = cache()
        let life = EntryLifetime(freshFor: .seconds(5_000))
        _ = try await cache.get("k", ReadOptions(tags: ["read", "own"], lifetime: life))
        let entry = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(entry.tags == ["own", "read"])
        #expect(MonotonicInstant.now.duration(to: entry.freshUntil) > .seconds(4_000))
        try await cache.invalidate(tag: "read")
        #expect(try await cache.get("k", .cached) == nil)
        // Nothing is kept, and the caller has it.
        #expect(try await cache.get("k", ReadOptions(lifetime: EntryLifetime(freshFor: .zero))) == "value")
        #expect(try await memory.get("k") == nil)
        // A hit is not touched.
        _ = try await cache.get("k")
        _ = try await cache.get("k", ReadOptions(tags: ["late"]))
        #expect(try await memory.entry(for: "k", ReadRequest())?.tags == ["own"])
        let calls = held.calls
        let error = await #expect(throws: CacheError.self) {
            try await cache.get("other", ReadOptions(tags: [String(repeating: "x", count: 2_000)]))
        }
        #expect(error?.code == .invalidTags && held.calls == calls)
    }

    @Test("an absence gets the tags and keeps its lifetime; what is unchanged gets tags, too")
    func otherOutcomes() async throws {
        let absent = memory.compose(
            Source<String, String> { _, _ in .absent(lifetime: EntryLifetime(freshFor: .seconds(70))) }
        )
        _ = try await absent.get("none", ReadOptions(tags: ["t"], lifetime: EntryLifetime(freshFor: .seconds(5_000))))
        let entry = try #require(try await memory.entry(for: "none", ReadRequest()))
        #expect(entry.tags == ["t"] && MonotonicInstant.now.duration(to: entry.freshUntil) < .seconds(80))
        let fetch = Fetch<String, String>(Adjustable(FreshnessPolicy())) { _, _ in .notModified() }
        let old = Entry<String>(.value("old"), tags: ["t"])
        func use(_ tags: [String]) async throws -> (Fetched<String>.Use, [String]?) {
            let fetched = try await fetch("k", fingerprint: 0, old: old, nil, nil, for: nil, ReadOptions(tags: tags))
            return (fetched.use, fetched.entry?.tags)
        }
        let (same, other) = (try await use(["t"]), try await use(["u"]))
        #expect(same.0 == .extend && same.1 == ["t"])
        // Its bytes do not stay where they are.
        #expect(other.0 == .keep && other.1 == ["t", "u"])
    }

    @Test("a refresh in the background that the read begins has its tags and its lifetime")
    func refresh() async throws {
        held.gate.open()
        let cache = cache(FreshnessPolicy(staleWhileRevalidate: .seconds(60)))
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        let options = ReadOptions(tags: ["read"], lifetime: EntryLifetime(freshFor: .seconds(5_000)))
        #expect(try await cache.get("k", options) == "old")
        await cache.drain(within: .seconds(30))
        let entry = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(entry.value == "value" && entry.tags == ["own", "read"])
        #expect(MonotonicInstant.now.duration(to: entry.freshUntil) > .seconds(4_000))
    }

    @Test("a read that does not wait for others asks beside a running fetch, and no level keeps what it gets")
    func beside() async throws {
        let held = Held(next: AsyncGate())
        let cache = memory.compose(Source<String, String> { _ in try await held.fetch() })
        let first = Task { try await cache.get("k") }
        await held.gate.arrivals()
        held.set("later")
        held.next?.open()
        #expect(try await cache.get("k", ReadOptions(waitsForOthers: false)) == "later")
        #expect(memory.resident("k", at: .coarse) == nil)
        held.gate.open()
        #expect(try await first.value == "value")
        #expect(try await cache.get("k") == "value" && held.calls == 2)
    }

    @Test("without a running fetch it begins one like any read, and others join that")
    func leading() async throws {
        let cache = cache()
        let first = Task { try await cache.get("k", ReadOptions(waitsForOthers: false)) }
        await held.gate.arrivals()
        let second = Task { try await cache.get("k") }
        while cache.lower.waiting < 2 { try await nextTurn() }
        held.gate.open()
        #expect(try await [first.value, second.value] == ["value", "value"])
        #expect(held.calls == 1 && memory.resident("k", at: .coarse)?.value == "value")
    }

    @Test("a closure without a policy goes by the read's tags and lifetime")
    func closure() async throws {
        let cache = memory.compose(ClosureFetcher { key in key })
        _ = try await cache.get("k", ReadOptions(tags: ["t"], lifetime: EntryLifetime(freshFor: .seconds(50))))
        let entry = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(entry.tags == ["t"] && MonotonicInstant.now.duration(to: entry.freshUntil) < .seconds(60))
        #expect(try await cache.get("l", ReadOptions(lifetime: EntryLifetime(freshFor: .zero))) == "l")
        #expect(try await memory.get("l") == nil)
    }
}
