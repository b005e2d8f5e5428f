import StrataTesting
import Testing

@testable import Strata

@Suite("Why a read got what it got", .timeLimit(.minutes(5)))
struct ReadReasonTests {
    private let lower = ProbeLevel(["k": 1])
    private let log = RemovalLog<String, Int>()

    private func memory(_ limit: Int = 100) -> MemoryLevel<String, Int> {
        MemoryLevel(limit: .entries(limit), onRemoval: log.add)
    }

    /// What each step says, as `memory miss (absent)`.
    private func account(_ trace: ReadTrace) -> [String] {
        trace.steps.map { "\($0.origin) \($0.event)\($0.reason.map { " (\($0))" } ?? "")" }
    }

    private func account(_ cache: some CacheLevel<String, Int>, _ options: ReadOptions = .ordinary) async throws
        -> [String]
    {
        account(try await cache.getWithTrace("k", options).trace)
    }

    // MARK: Memory

    @Test("in memory: absent, then a hit; removed; cleared")
    func memoryAlone() async throws {
        let level = memory()
        #expect(try await account(level) == ["memory miss (absent)"])
        try await level.set(1, for: "k")
        #expect(try await account(level) == ["memory hit"])
        try await level.remove("k")
        #expect(try await account(level) == ["memory miss (removed)"])
        try await level.set(1, for: "k")
        try await level.clear()
        #expect(try await account(level) == ["memory miss (cleared)"])
        #expect(try await level.getWithTrace("other").trace.steps.map(\.reason) == [.absent])
    }

    @Test("in memory: evicted for others, or for the machine's sake")
    func evicted() async throws {
        let level = memory(10)
        for number in 0..<100 { try await level.set(number, for: "\(number)") }
        let last = try #require(log.keys.last)
        #expect(log.causes.last == .size)
        #expect(try await level.getWithTrace(last).trace.steps.map(\.reason) == [.evicted])
        let held = (0..<100).map { "\($0)" }.filter { level.resident($0, at: .now) != nil }
        level.relieve(.critical)
        var reasons: Set<ReadTrace.Reason?> = []
        for key in held { reasons.formUnion(try await level.getWithTrace(key).trace.steps.map(\.reason)) }
        // Of keys that fall together into one place of the record the last is remembered.
        #expect(reasons.contains(.evicted))
    }

    @Test("in memory: past its lifetime, before and after it has left; not read for too long")
    func expired() async throws {
        let time = HandMovedTime()
        for idle in [nil, Duration.seconds(5)] {
            let level = MemoryLevel<String, Int>(
                limit: .entries(10),
                lifetime: idle == nil ? .seconds(5) : nil,
                idleLifetime: idle,
                time: time.clock,
                isTended: false
            )
            let reason: ReadTrace.Reason = idle == nil ? .expired : .idle
            try await level.set(1, for: "k")
            time.advance(by: .seconds(6))
            #expect(try await level.getWithTrace("k").trace.steps.map(\.reason) == [reason])
            _ = level.sweep(at: time.now)
            #expect(level.statistics.entries == 0)
            #expect(try await level.getWithTrace("k").trace.steps.map(\.reason) == [reason])
        }
    }

    @Test("in memory: not read for too long, in the place of one whose tag was invalidated")
    func reusedPlace() async throws {
        let time = HandMovedTime()
        let level = MemoryLevel<String, Int>(
            limit: .entries(10),
            idleLifetime: .seconds(5),
            time: time.clock,
            isTended: false
        )
        try await level.set(1, for: "tagged", tags: ["red"])
        try await level.invalidate(tag: "red")
        try await level.remove("tagged")
        try await level.set(2, for: "k")
        time.advance(by: .seconds(5))
        #expect(try await level.getWithTrace("k").trace.steps.map(\.reason) == [.idle])
    }

    @Test("in memory: one of its tags was invalidated")
    func tagged() async throws {
        let level = memory()
        try await level.set(1, for: "k", tags: ["red"])
        try await level.invalidate(tag: "red")
        #expect(try await account(level) == ["memory miss (tag invalidated)"])
    }

    @Test("what has left is found again under its own key alone, up to the size of the table")
    func table() {
        var table = RecentDepartures(expected: 1_000_000)
        for tag in stride(from: UInt32(0), to: 2048, by: 1) { table.note(tag, tag % 2 == 0 ? .size : .expired) }
        #expect((0..<2048).allSatisfy { table.cause(of: $0) == ($0 % 2 == 0 ? .size : .expired) })
        #expect(table.cause(of: 2048) == nil && table.cause(of: 4096 + 7) == nil)
        table.note(2048 + 5, .pressure)
        #expect(table.cause(of: 2048 + 5) == .pressure && table.cause(of: 5) == nil)
        // The causes stand where the place is known anyway: no two are taken for one another.
        for number in UInt8(0)...6 {
            table.note(77, RemovalCause(number: number))
            #expect(table.cause(of: 77) == RemovalCause(number: number))
        }
    }

    // MARK: Composition

    @Test("memory above a level: missed, filled; then a hit asks no other level")
    func filled() async throws {
        let cache = memory().compose(lower)
        #expect(try await account(cache) == ["memory miss (absent)", "memory stored"])
        #expect(try await account(cache) == ["memory hit"])
        try await cache.remove("k")
        #expect(try await account(cache) == ["memory miss (removed)"])
    }

    @Test("a change below voids the entry above; the trace names the cause while that is known")
    func voided() async throws {
        let gate = FillGate()
        let cache = memory().compose(Gated(gate, lower))
        for (cause, reason) in [
            (VoidCause.changedElsewhere, ReadTrace.Reason.changedElsewhere), (.removed, .removed),
            (.replaced, .replaced),
        ] {
            _ = try await cache.get("k")
            gate.void(Gated.fingerprint, because: cause)
            #expect(try await account(cache).first == "memory miss (\(reason))")
        }
        for (cause, reason) in [(VoidCause.cleared, ReadTrace.Reason.cleared), (.untrusted, .untrustedLink)] {
            _ = try await cache.get("k")
            gate.voidAll(because: cause)
            #expect(try await account(cache).first == "memory miss (\(reason))")
        }
        // A later key has taken the place of the key's own record.
        _ = try await cache.get("k")
        gate.void(Gated.fingerprint, because: .changedElsewhere)
        for other in 0..<20_000 as Range<UInt64> {
            _ = gate.ticket(for: other)
            gate.void(other, because: .replaced)
        }
        let forgotten = try await account(cache).first
        #expect(forgotten != "memory miss (replaced)" && forgotten?.hasPrefix("memory miss (") == true)
    }

    @Test("a tag that is invalidated while the value is on its way: it is returned, and not kept")
    func tagOnTheWay() async throws {
        let gate = AsyncGate()
        let source = Source<String, Int> { _, _ in
            try await gate.pass()
            return .value(1, tags: ["red"])
        }
        let cache = memory().compose(source)
        let read = Task { try await cache.getWithTrace("k") }
        await gate.arrivals()
        try await cache.invalidate(tag: "red")
        gate.open()
        let (value, trace) = try await read.value
        #expect(value == 1)
        #expect(account(trace) == ["memory miss (absent)", "source fetched", "memory refused (tag invalidated)"])
    }

    @Test("a key that is removed while its value is on its way: it is returned, and not kept")
    func removedOnTheWay() async throws {
        let gate = AsyncGate()
        lower.holdGets(gate)
        let cache = memory().compose(lower)
        let read = Task { try await cache.getWithTrace("k") }
        await gate.arrivals()
        try await cache.remove("k")
        gate.open()
        let (value, trace) = try await read.value
        #expect(value == 1)
        #expect(account(trace) == ["memory miss (absent)", "memory refused (changed meanwhile)"])
    }

    @Test("a value that its source does not want kept; one that is too large; one that the options keep out")
    func notKept() async throws {
        let source = Source<String, Int> { _, _ in .doNotStore(1) }
        let kept = memory().compose(source)
        #expect(try await account(kept) == ["memory miss (absent)", "source fetched", "memory refused (not kept)"])
        let small = MemoryLevel<String, Int>(limit: .cost(10) { _ in 11 }).compose(lower)
        #expect(try await account(small) == ["memory miss (absent)", "memory failed (too large)"])
        let left = memory().compose(lower)
        #expect(
            try await account(left, ReadOptions(skipsFilling: [.memory])) == [
                "memory miss (absent)", "memory refused (skipped)",
            ]
        )
        #expect(
            try await account(left, ReadOptions(skipsReading: [.memory])) == [
                "memory skipped (skipped)", "memory stored",
            ]
        )
    }

    @Test("a value that was found and not served: stale, or older than the read wants")
    func found() async throws {
        let stale = Source<String, Int>(
            freshness: FreshnessPolicy(freshFor: .milliseconds(1), staleIfError: .seconds(60))
        ) {
            _ in 1
        }
        let cache = memory().compose(stale)
        _ = try await cache.get("k")
        let stored = MonotonicInstant.coarse
        while stored.duration(to: .coarse) < .milliseconds(10) { try await nextTurn() }
        let again = try await account(cache)
        #expect(again == ["memory miss (stale)", "source fetched", "memory stored"])
        let fresh = memory().compose(Source<String, Int> { _ in 1 })
        _ = try await fresh.get("k")
        #expect(try await account(fresh, .reload) == ["memory miss (not wanted)", "source fetched", "memory stored"])
        #expect(try await account(fresh, ReadOptions(maximumAge: .zero)).first == "memory miss (not wanted)")
        // The source is not to be asked, and says so.
        let empty = memory().compose(Source<String, Int> { _ in 1 })
        #expect(try await account(empty, .cached) == ["memory miss (absent)", "source skipped (skipped)"])
    }

    @Test("a source that has failed a moment ago is not asked")
    func backOff() async throws {
        struct Down: Error {}
        let source = Source<String, Int>(failureBackOff: .seconds(60) ... .seconds(60)) { _ in throw Down() }
        for expected in [ReadTrace.Reason?.none, .backOff] {
            let recorder = ReadTraceRecorder()
            await #expect(throws: Down.self) {
                try await memory().compose(source).entry(for: "k", ReadRequest(recorder: recorder))
            }
            #expect(recorder.steps.last?.event == .failed && recorder.steps.last?.error == "Down")
            #expect(recorder.steps.last?.reason == expected)
        }
    }

    @Test("the account is a line that a person can read, without key and value")
    func described() async throws {
        let cache = memory().compose(Source<String, Int> { _ in 4711 })
        let first = try await cache.getWithTrace("secret").trace
        #expect(first.description.hasPrefix("fresh from source, "))
        #expect(first.description.contains(": memory missed (absent)"))
        #expect(first.description.contains("; source fetched") && first.description.contains("; memory stored"))
        let second = try await cache.getWithTrace("secret").trace
        #expect(second.description.hasPrefix("fresh from memory, ") && second.description.contains(" old, in "))
        let none = try await cache.getWithTrace("other", .cached).trace
        #expect(none.description.hasPrefix("absent, in ") && none.description.contains("source skipped"))
        for trace in [first, second, none] {
            #expect(!trace.description.contains("secret") && !trace.description.contains("4711"))
            #expect(!trace.description.contains("\n"))
        }
    }

    @Test("durations are short")
    func durations() {
        let texts: [(Duration, String)] = [
            (.zero, "0 ns"), (.nanoseconds(999), "999 ns"), (.microseconds(85), "85 µs"),
            (.microseconds(1250), "1.3 ms"),
            (.milliseconds(12), "12 ms"), (.seconds(1), "1 s"), (.seconds(90), "1.5 min"), (.seconds(3600), "1 h"),
            (.seconds(200_000), "2.3 d"),
        ]
        for (duration, text) in texts { #expect(duration.brief == text) }
    }

    // MARK: Batches

    @Test("of a batch each key has its own account, also through other keys; what is alike is told once")
    func batch() async throws {
        let lower = ProbeLevel(["1": 1, "2": 2, "3": 3])
        let cache = memory().compose(lower).transformKeys { (key: Int) in "\(key)" }
        _ = try await cache.get(1)
        let (values, trace) = try await cache.getWithTrace([1, 2, 4, 1])
        #expect(values == [1, 2, nil, 1])
        #expect(
            trace.traces.map { account($0) } == [
                ["memory hit"], ["memory miss (absent)", "memory stored"], ["memory miss (absent)"], ["memory hit"],
            ]
        )
        #expect(trace.traces.map(\.state) == [.fresh, .fresh, .absent, .fresh])
        let lines = trace.description.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(
            lines[0].hasPrefix("4 keys in ") && lines[0].hasSuffix("2 fresh from memory, 1 absent, 1 fresh from source")
        )
        #expect(lines[1] == "  [0] and 1 more fresh from memory: memory hit")
        #expect(lines[2] == "  [1] fresh from source: memory missed (absent); memory stored")
    }

    @Test("of a batch whose keys have others' names below each has its own account, also a tenant's")
    func batchRenamed() async throws {
        let renamed = memory().compose(ProbeLevel(["bb": 2, "bbb": 3])).transformKeys { (key: String) in key + "b" }
        let (values, trace) = try await renamed.getWithTrace(["", "b", "bb"])
        #expect(values == [nil, 2, 3])
        let found = ["memory miss (absent)", "memory stored"]
        #expect(trace.traces.map { account($0) } == [["memory miss (absent)"], found, found])
        let shared = MemoryLevel<TenantKey<String>, Int>(limit: .entries(4))
        let tenant = shared.compose(Source<TenantKey<String>, Int> { Int($0.key) }).tenant("acme")
        let traces = try await tenant.getWithTrace(["1", "x"]).trace.traces
        let fetched = ["memory miss (absent)", "source fetched", "memory stored"]
        #expect(traces.map { account($0) } == [fetched, fetched])
    }

    @Test("of a batch whose keys are fetched one by one each has its own account")
    func batchFetched() async throws {
        let cache = memory().compose(Source<String, Int> { Int($0) })
        let (values, trace) = try await cache.getWithTrace(["1", "x"])
        #expect(values == [1, nil])
        let fetched = ["memory miss (absent)", "source fetched", "memory stored"]
        #expect(trace.traces.map { account($0) } == [fetched, fetched])
        let none = try await cache.getWithTrace([])
        #expect(none.values == [] && none.trace.traces.isEmpty)
    }
}

/// A level that hears of changes made elsewhere, one key's at least.
private final class Gated: CacheLevel {
    static let fingerprint: UInt64 = 0x1234_5678_9abc_def0

    private let base: ProbeLevel
    private let ownGate: FillGate

    init(_ gate: FillGate, _ base: ProbeLevel) {
        ownGate = gate
        self.base = base
    }

    var gate: FillGate? { ownGate }

    func fingerprint(of key: String) -> UInt64 { Self.fingerprint }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        let ticket = ownGate.ticket(for: Self.fingerprint)
        var entry = try await base.entry(for: key, request)
        entry?.ticket = ticket
        return entry
    }

    func store(_ entry: Entry<Int>, for key: String) async throws { try await base.store(entry, for: key) }
    func remove(_ key: String) async throws { try await base.remove(key) }
    func removeAll() async throws { try await base.removeAll() }
}
