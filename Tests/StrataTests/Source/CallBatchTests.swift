import StrataTesting
import Testing

@testable import Strata

@Suite("A source of several keys, with each call or below memory", .timeLimit(.minutes(5)))
struct CallBatchTests {
    /// A source that takes down what it was asked for, and answers with the key and an exclamation mark.
    private final class Library: Sendable {
        struct Failure: Error, Equatable {}

        private let state = Locked((calls: [Set<String>](), old: [String: String](), failing: Set<String>()))
        let gate = AsyncGate()

        init(isHeld: Bool = false) { if !isHeld { gate.open() } }

        var calls: [Set<String>] { state.withLock { $0.calls } }
        var old: [String: String] { state.withLock { $0.old } }

        func fail(_ keys: Set<String>) { state.withLock { $0.failing = keys } }

        func fetch(_ keys: [String]) async throws -> [String: String] {
            let failing = state.withLock { state in
                state.calls.append(Set(keys))
                return state.failing
            }
            try await gate.pass()
            guard failing.isDisjoint(with: keys) else { throw Failure() }
            var found = ["nobody asked": "for this"]
            for key in keys where !key.hasPrefix("none") { found[key] = "\(key)!" }
            return found
        }

        func outcomes(_ contexts: [String: FetchContext<String>]) async throws -> [String: FetchOutcome<String>] {
            let failing = state.withLock { state in
                state.calls.append(Set(contexts.keys))
                for (key, context) in contexts { state.old[key] = context.old }
                return state.failing
            }
            try await gate.pass()
            var outcomes: [String: FetchOutcome<String>] = [:]
            for key in contexts.keys where !key.hasPrefix("none") {
                outcomes[key] = failing.contains(key) ? .failure(Failure()) : .value("\(key)!", tags: ["all"])
            }
            return outcomes
        }
    }

    private struct Untransformable: Error {}

    private let library = Library()

    private func cache(
        _ source: Source<String, String> = .perCall(failureBackOff: nil)
    ) -> Composed<MemoryLevel<String, String>, Source<String, String>> {
        MemoryLevel(limit: .entries(10_000)).compose(source)
    }

    /// Memory whose keys are texts, over a source whose keys are numbers.
    private func numbered(_ policy: FreshnessPolicy) -> some SourcedLevel<String, String> {
        let source = Source<Int, String>.perCall(freshness: policy)
        return MemoryLevel<String, String>(limit: .entries(16))
            .compose(source.transformKeys { (key: String) -> Int in Int(key) ?? 0 })
    }

    // MARK: With each call

    @Test("one call of the source for what memory lacks; the order is that of the keys, and absences are kept")
    func mixed() async throws {
        let cache = cache()
        try await cache.set("in memory", for: "a")
        let found = try await cache.get(["c", "a", "none", "d", "c"]) { try await library.fetch($0) }
        #expect(found == ["c!", "in memory", nil, "d!", "c!"])
        #expect(library.calls == [["c", "d", "none"]])
        #expect(try await cache.get(["d", "none", "c"]) { try await library.fetch($0) } == ["d!", nil, "c!"])
        #expect(try await cache.get("c") == "c!")
        #expect(try await cache.get("nobody asked") == nil)
        #expect(library.calls.count == 1)
    }

    @Test("a batch waits for keys that others fetch, and fetches the rest at once; single reads join it")
    func overlapping() async throws {
        let cache = cache()
        let other = Library(isHeld: true)
        let single = Task { try await cache.get("b") { try await other.fetch(["b"])["b"] } }
        await other.gate.arrivals()
        let held = Library(isHeld: true)
        let batch = Task { try await cache.get(["a", "b", "c"]) { try await held.fetch($0) } }
        await held.gate.arrivals()
        #expect(held.calls == [["a", "c"]])
        let joined = Task { try await cache.get("c") { try await library.fetch(["c"])["c"] } }
        let crossing = Task { try await cache.get(["c", "b", "d"]) { try await library.fetch($0) } }
        while library.calls.isEmpty { try await nextTurn() }
        #expect(library.calls == [["d"]])
        while cache.lower.waiting < 7 { try await nextTurn() }
        held.gate.open()
        other.gate.open()
        #expect(try await single.value == "b!")
        #expect(try await batch.value == ["a!", "b!", "c!"])
        #expect(try await joined.value == "c!")
        #expect(try await crossing.value == ["c!", "b!", "d!"])
        #expect(other.calls == [["b"]] && held.calls.count == 1 && library.calls.count == 1)
    }

    @Test("a key that fails by itself fails the read; a call that fails fails all of its keys")
    func failures() async throws {
        let cache = cache()
        library.fail(["bad"])
        await #expect(throws: Library.Failure()) {
            try await cache.get(["good", "bad"]) { try await library.outcomes($1) }
        }
        #expect(try await cache.get("bad") == nil)
        await #expect(throws: Library.Failure()) {
            try await cache.get(["bad", "fine"]) { try await library.fetch($0) }
        }
        #expect(library.calls == [["good", "bad"], ["bad", "fine"]])
        #expect(try await cache.get(["fine"]) { try await library.fetch($0) } == ["fine!"])
    }

    @Test("a key that failed is not asked for again for a while, the other keys are")
    func backOff() async throws {
        let cache = cache(.perCall(failureBackOff: .seconds(600) ... .seconds(600)))
        library.fail(["bad"])
        await #expect(throws: Library.Failure()) {
            try await cache.get(["bad"]) { try await library.fetch($0) }
        }
        await #expect(throws: Library.Failure()) {
            try await cache.get(["bad", "a", "b"]) { try await library.fetch($0) }
        }
        #expect(try await cache.get(["a", "b"]) { try await library.fetch($0) } == ["a!", "b!"])
        #expect(library.calls.first == ["bad"] && library.calls.count > 1)
        #expect(!library.calls.dropFirst().contains { $0.contains("bad") })
    }

    @Test("a caller who leaves ends a fetch that nobody else waits for, and the next call asks its own source")
    func cancelled() async throws {
        let cache = cache()
        let held = Library(isHeld: true)
        let read = Task { try await cache.get(["a", "b"]) { try await held.fetch($0) } }
        await held.gate.arrivals()
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        #expect(try await cache.get(["a", "b"]) { try await library.fetch($0) } == ["a!", "b!"])
        #expect(held.calls == [["a", "b"]] && library.calls == [["a", "b"]])
    }

    @Test("thousands of keys are asked for by the thousand, all at once")
    func pieces() async throws {
        let keys = (0..<2_500).map { "k\($0)" }
        let held = Library(isHeld: true)
        let read = Task { try await cache().get(keys + keys.prefix(3)) { try await held.fetch($0) } }
        while held.calls.count < 3 { try await nextTurn() }
        held.gate.open()
        #expect(try await read.value == (keys + keys.prefix(3)).map { "\($0)!" })
        #expect(held.calls.map(\.count).sorted() == [500, 1_000, 1_000])
    }

    @Test("room for one fetch is room for a batch", arguments: [1, 3])
    func limit(limit: Int) async throws {
        let cache = cache(.perCall(limit: limit))
        #expect(try await cache.get(["a", "b", "c", "d"]) { try await library.fetch($0) } == ["a!", "b!", "c!", "d!"])
        #expect(library.calls == [["a", "b", "c", "d"]])
    }

    @Test("options count: nothing is asked, or all of it")
    func options() async throws {
        let cache = cache()
        #expect(try await cache.get(["a", "b"], .cached) { try await library.fetch($0) } == [nil, nil])
        #expect(library.calls.isEmpty)
        try await cache.set("old", for: "a")
        #expect(try await cache.get(["a", "b"], .reload) { try await library.outcomes($1) } == ["a!", "b!"])
        #expect(library.calls == [["a", "b"]])
    }

    @Test("a stale value is served at once, and refreshed by a call for that key alone")
    func refresh() async throws {
        let clock = ManualClock()
        let policy = FreshnessPolicy(freshFor: .seconds(10), staleWhileRevalidate: .seconds(600), earlyRefresh: 0)
        let cache = clock.driving { self.cache(.perCall(freshness: policy)) }
        #expect(try await cache.get(["a", "b"]) { try await library.outcomes($1) } == ["a!", "b!"])
        try clock.advance(by: .seconds(20))
        #expect(try await cache.get(["a", "none"]) { try await library.outcomes($1) } == ["a!", nil])
        await cache.drain(within: .seconds(60))
        #expect(library.calls.first == ["a", "b"])
        #expect(Set(library.calls.dropFirst()) == [["a"], ["none"]])
        #expect(library.old == ["a": "a!"])
    }

    @Test("a refresh asks by the name that the caller uses")
    func refreshByName() async throws {
        let clock = ManualClock()
        let policy = FreshnessPolicy(freshFor: .seconds(10), staleWhileRevalidate: .seconds(600), earlyRefresh: 0)
        let cache = clock.driving { self.numbered(policy) }
        #expect(try await cache.get(["1", "2"]) { try await library.fetch($0) } == ["1!", "2!"])
        try clock.advance(by: .seconds(20))
        #expect(try await cache.get(["1", "2"]) { try await library.fetch($0) } == ["1!", "2!"])
        await cache.drain(within: .seconds(60))
        #expect(library.calls.first == ["1", "2"])
        #expect(Set(library.calls.dropFirst()) == [["1"], ["2"]])
    }

    // MARK: Through other levels

    @Test("the source has the names and the form that the caller uses", arguments: [false, true])
    func transformed(isSuspending: Bool) async throws {
        let bottom = MemoryLevel<Int, [UInt8]>(limit: .entries(16)).compose(Source<Int, [UInt8]>.perCall())
        let texts = bottom.transformValues({ String(decoding: $0, as: UTF8.self) }, inverse: { Array($0.utf8) })
        let failing = Locked(false)
        let checked = texts.transformValues(
            { (text: String) in text },
            inverse: { (text: String) throws in
                if failing.withLock({ $0 }), text == "2!" { throw Untransformable() }
                return text
            }
        )
        func check(_ cache: some SourcedLevel<String, String>) async throws {
            #expect(try await cache.get(["1", "2", "3"]) { try await library.outcomes($1) } == ["1!", "2!", "3!"])
            #expect(try await bottom.get([1, 2, 3]) == ["1!", "2!", "3!"].map { Array($0.utf8) })
            #expect(library.calls == [["1", "2", "3"]])
            #expect(try await cache.get(["2"], .reload) { try await library.outcomes($1) } == ["2!"])
            #expect(library.old["2"] == "2!")
            failing.withLock { $0 = true }
            await #expect(throws: Untransformable.self) {
                try await cache.get(["4", "2"], .reload) { try await library.outcomes($1) }
            }
            #expect(library.calls.last == ["4", "2"])
            var request = ReadRequest(leavesOutFailures: true, options: .reload)
            request.callSource = CallBatch<String, String> { try await library.outcomes($0) }
            #expect(try await cache.entries(for: ["4", "2"], request).map { $0?.value } == ["4!", nil])
        }
        if isSuspending {
            try await check(
                checked.transformKeys { (key: String) async throws -> Int in
                    await Task.yield()
                    return Int(key) ?? 0
                }
            )
        } else {
            try await check(checked.transformKeys { (key: String) -> Int in Int(key) ?? 0 })
        }
    }

    @Test("two keys that are one below are asked for once")
    func sharedName() async throws {
        let cache = cache().transformKeys { (key: String) -> String in key.lowercased() }
        let found = try await cache.get(["a", "A", "B"]) { try await library.fetch($0) }
        #expect(found == ["a!", "a!", "B!"])
        #expect(library.calls == [["a", "B"]])
    }

    @Test("a tenant's batch is asked by its own keys, and its values bear the tenant's tag")
    func tenant() async throws {
        let all = MemoryLevel<TenantKey<String>, String>(limit: .entries(16))
            .compose(Source<TenantKey<String>, String>.perCall())
        let (acme, other) = (all.tenant("acme"), all.tenant("other"))
        #expect(try await acme.get(["a", "b"]) { try await library.fetch($0) } == ["a!", "b!"])
        #expect(try await other.get(["a"]) { try await library.fetch($0) } == ["a!"])
        #expect(library.calls == [["a", "b"], ["a"]])
        try await acme.clear()
        #expect(try await acme.get(["a", "b"]) == [nil, nil])
        #expect(try await other.get(["a"]) == ["a!"])
    }

    // MARK: Below memory

    @Test("a bound source of several is asked once, and a call's own takes its place")
    func bound() async throws {
        let other = Library()
        let cache = cache(.fetchingSeveral { keys in try await library.fetch(keys) })
        #expect(try await cache.get(["a", "b", "none"]) == ["a!", "b!", nil])
        #expect(try await cache.get("c") == "c!")
        #expect(try await cache.get(["c", "d"]) { try await other.fetch($0) } == ["c!", "d!"])
        #expect(library.calls == [["a", "b", "none"], ["c"]])
        #expect(other.calls == [["d"]])
    }

    @Test("a bound source of several tells how its answers are kept")
    func boundOutcomes() async throws {
        let cache = cache(.fetchingSeveral { _, contexts in try await library.outcomes(contexts) })
        library.fail(["bad"])
        #expect(try await cache.batchGetSome(["a", "bad", "b"]).sorted() == ["a!", "b!"])
        #expect(library.calls == [["a", "bad", "b"]])
        try await cache.invalidate(tag: "all")
        library.fail([])
        #expect(try await cache.get(["a", "b"]) == ["a!", "b!"])
        #expect(library.calls.count == 2)
    }
}
