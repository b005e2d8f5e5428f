import Strata
import StrataTesting
import Testing

@Suite("Batches", .timeLimit(.minutes(5)))
struct BatchTests {
    struct Failure: Error, Equatable { var key: String }

    /// Holds each key until its gate opens, then answers by the key: `bad…` fails, `none…` misses, `cancelled…` is
    /// cancelled.
    private final class Held: Sendable {
        let log = CallLog()
        let ended = CallLog()
        private let gates: [String: AsyncGate]

        init(_ keys: [String]) {
            gates = Dictionary(uniqueKeysWithValues: keys.map { ($0, AsyncGate()) })
        }

        func gate(_ key: String) -> AsyncGate { gates[key] ?? AsyncGate() }

        var level: ClosureLevel<String, String> {
            ClosureLevel { [self] key in
                log.add(key)
                do {
                    try await gates[key]?.pass()
                } catch {
                    ended.add("cancelled " + key)
                    throw error
                }
                if key.hasPrefix("bad") { throw Failure(key: key) }
                if key.hasPrefix("cancelled") { throw CancellationError() }
                return key.hasPrefix("none") ? nil : key.uppercased()
            } set: { _, _ in
            }
        }
    }

    // MARK: The lenient batch

    @Test("A070 A072 each key is asked for; what fails is left out, and is no error")
    func lenient() async throws {
        let held = Held([])
        #expect(try await held.level.batchGetSome(["a", "bad", "none", "b"]) == ["A", "B"])
        #expect(held.log.calls.sorted() == ["a", "b", "bad", "none"])
    }

    @Test("A071 A073 nothing is delivered while one is pending; the values come in the order of the keys")
    func order() async throws {
        let held = Held(["a", "b", "c"])
        let delivered = Flag()
        let batch = Task {
            let values = try await held.level.batchGetSome(["a", "bad", "b", "c"])
            delivered.set()
            return values
        }
        for key in ["a", "b", "c"] { await held.gate(key).arrivals() }
        held.gate("c").open()
        held.gate("b").open()
        #expect(!delivered.isSet)
        held.gate("a").open()
        #expect(try await batch.value == ["A", "B", "C"])
    }

    @Test("A074 A181 one that the level itself cancels is left out of the lenient batch, which is not cancelled")
    func cancelledByLevel() async throws {
        #expect(try await Held([]).level.batchGetSome(["a", "cancelled", "b"]) == ["A", "B"])
    }

    @Test("A075 when every key fails the result is empty")
    func allFail() async throws {
        #expect(try await Held([]).level.batchGetSome(["bad", "bad2", "none"]) == [])
    }

    @Test("A076 no keys give an empty list at once")
    func noKeys() async throws {
        let held = Held([])
        #expect(try await held.level.batchGetSome([]) == [])
        #expect(try await held.level.batchGetAll([]) == [])
        #expect(try await held.level.allBatch().get([]) == [])
        #expect(held.log.calls == [])
    }

    @Test("A077 a caller that is cancelled cancels every get under way, in both batches", arguments: [true, false])
    func cancelled(strict: Bool) async throws {
        let held = Held(["a", "b"])
        let level = held.level
        let batch = Task { try await strict ? level.batchGetAll(["a", "b"]) : level.batchGetSome(["a", "b"]) }
        for key in ["a", "b"] { await held.gate(key).arrivals() }
        batch.cancel()
        await #expect(throws: CancellationError.self) { try await batch.value }
        #expect(held.ended.calls.sorted() == ["cancelled a", "cancelled b"])
    }

    @Test("a key that is named twice is asked for once")
    func repeated() async throws {
        let asked = CallLog()
        let cache = MemoryLevel<String, String>(limit: .entries(4))
            .compose(
                ClosureFetcher { key in
                    asked.add(key)
                    return key.uppercased()
                }
            )
        #expect(try await cache.get(["a", "b", "a"]) == ["A", "B", "A"])
        #expect(asked.calls.sorted() == ["a", "b"])
    }

    @Test("a condition is asked once for each key of a list, whatever memory has of it")
    func listConditions() async throws {
        let asked = CallLog()
        let memory = MemoryLevel<String, String>(limit: .entries(4))
        try await memory.set("A", for: "a")
        let conditioned = memory.conditioned { key in
            asked.add(key)
            return true
        }
        let lists = conditioned.compose(ClosureFetcher { $0.uppercased() }).allBatch()
        #expect(try await lists.get(["a", "b"]) == ["A", "B"])
        #expect(asked.calls.sorted() == ["a", "b"])
    }

    @Test("a list is as old as its oldest entry")
    func age() async throws {
        let memory = MemoryLevel<String, String>(limit: .entries(4))
        try await memory.store(.aged("A", fresh: 600, stored: -10), for: "a")
        try await memory.store(.aged("B", fresh: 600, stored: -30), for: "b")
        #expect(try await memory.allBatch().get(["a", "b"], ReadOptions(maximumAge: .seconds(300))) == ["A", "B"])
        #expect(try await memory.allBatch().get(["a", "b"], ReadOptions(maximumAge: .seconds(20))) == nil)
    }

    @Test("a list that is not found as a whole says of none of its keys that it has no value")
    func absentTogether() async throws {
        let memory = MemoryLevel<String, String>(limit: .entries(4))
        let lists = memory.allBatch().compose(Source<[String], [String]> { $0.count > 1 ? nil : $0 })
        #expect(try await lists.get(["a", "b"]) == nil)
        for key in ["a", "b"] {
            #expect(try await memory.entry(for: key, ReadRequest()) == nil)
            #expect(try await lists.get([key]) == [key])
        }
    }

    // MARK: The strict batch

    @Test(
        "A078 A081 every key is asked for, one success alone delivers nothing, and values come in the order of the keys"
    )
    func strict() async throws {
        let held = Held(["a", "b", "c"])
        let delivered = Flag()
        let batch = Task {
            let values = try await held.level.batchGetAll(["a", "b", "c"])
            delivered.set()
            return values
        }
        for key in ["a", "b", "c"] { await held.gate(key).arrivals() }
        held.gate("c").open()
        #expect(!delivered.isSet)
        held.gate("b").open()
        held.gate("a").open()
        #expect(try await batch.value == ["A", "B", "C"])
    }

    @Test("A079 A080 the first failure ends the strict batch, also of a late key, and cancels what is pending")
    func failsFast() async throws {
        let held = Held(["a", "bad"])
        let batch = Task { try await held.level.batchGetAll(["a", "bad"]) }
        await held.gate("a").arrivals()
        await held.gate("bad").arrivals()
        held.gate("bad").open()
        await #expect(throws: Failure(key: "bad")) { try await batch.value }
        #expect(held.ended.calls == ["cancelled a"])
    }

    @Test("a key without a value ends the strict batch with a miss")
    func missing() async {
        let error = await #expect(throws: CacheError.self) { try await Held([]).level.batchGetAll(["a", "none"]) }
        #expect(error?.code == .miss)
    }

    @Test("A082 one that the level itself cancels ends the strict batch as cancelled")
    func strictCancelledByLevel() async {
        await #expect(throws: CancellationError.self) { try await Held([]).level.batchGetAll(["a", "cancelled"]) }
    }

    // MARK: The batch as a level

    @Test("A083 each pair is set; it succeeds when all do, and else has the error of the one that failed")
    func set() async throws {
        let probe = ProbeLevel()
        try await probe.allBatch().set([1, 2], for: ["a", "b"])
        #expect(probe.values == ["a": 1, "b": 2])
        probe.failSets("full")
        let error = await #expect(throws: CacheError.self) { try await probe.allBatch().set([3, 4], for: ["a", "b"]) }
        #expect(error?.code == .levelsFailed)
        await #expect(throws: ProbeLevel.Failure(name: "full")) { try await probe.allBatch().set([3], for: ["a"]) }
    }

    @Test(
        "A084 fewer values than keys, or more, are refused before anything is written",
        arguments: [[], [1], [1, 2, 3]]
    )
    func mismatch(values: [Int]) async {
        let probe = ProbeLevel()
        let error = await #expect(throws: CacheError.self) { try await probe.allBatch().set(values, for: ["a", "b"]) }
        #expect(error?.code == .countMismatch)
        #expect(probe.calls == [])
    }

    @Test("A085 a set that fails for one key leaves the others written")
    func partial() async throws {
        let stored = CallLog()
        let level = ClosureLevel<String, Int> { _ in
            nil
        } set: { _, key in
            if key == "bad" { throw Failure(key: key) }
            stored.add(key)
        }
        await #expect(throws: Failure(key: "bad")) {
            try await level.allBatch().set([1, 2, 3], for: ["a", "bad", "c"])
        }
        #expect(stored.calls.sorted() == ["a", "c"])
    }

    @Test("A086 clear and memory pressure reach the level once")
    func clear() async throws {
        let probe = ProbeLevel()
        try await probe.allBatch().clear()
        probe.allBatch().relieve(.critical)
        #expect(probe.calls == [.removeAll, .relieve(.critical)])
    }

    @Test("A087 every key is removed; all are tried when one fails")
    func remove() async throws {
        let probe = ProbeLevel(["a": 1, "b": 2, "c": 3])
        try await probe.allBatch().remove(["a", "b"])
        #expect(probe.values == ["c": 3])
        probe.failRemoves("locked")
        await #expect(throws: CacheError.self) { try await probe.allBatch().remove(["b", "c"]) }
        #expect(probe.calls.suffix(2).count == 2)
    }

    @Test("A088 it composes, transforms and is conditioned like any other level")
    func algebra() async throws {
        let upper = MemoryLevel<[String], [Int]>(limit: .entries(4))
        let probe = ProbeLevel(["1": 1, "2": 2])
        let level = upper.compose(probe.allBatch().conditioned { !$0.isEmpty })
            .transformKeys { (text: String) in text.map(String.init) }
            .transformValues(
                TwoWayTransformer { (list: [Int]) in
                    list.reduce(0, +)
                } inverse: { (sum: Int) in
                    [sum]
                }
            )
        #expect(try await level.get("12") == 3)
        #expect(try await level.get("12") == 3)
        #expect(probe.gets == 2)
        #expect(try await level.get("13") == nil)
    }

    @Test("A089 a level that can ask for several keys at once is asked once")
    func oneCall() async throws {
        let probe = BatchProbe(["a": 1, "b": 2])
        #expect(try await probe.batchGetAll(["b", "a", "b"]) == [2, 1, 2])
        #expect(try await probe.batchGetSome(["c", "a"]) == [1])
        #expect(try await probe.allBatch().get(["a", "b"]) == [1, 2])
        #expect(try await probe.allBatch().get(["a", "c"]) == nil)
        #expect(probe.batches == [["b", "a", "b"], ["c", "a"], ["a", "b"], ["a", "c"]])
    }
}

/// Set once, from any task.
final class Flag: Sendable {
    private let value = Locked(false)

    var isSet: Bool { value.withLock { $0 } }

    func set() { value.withLock { $0 = true } }
}
