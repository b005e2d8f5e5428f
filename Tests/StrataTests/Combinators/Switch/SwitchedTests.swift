import Strata
import StrataTesting
import Testing

@Suite("Two branches")
struct SwitchedTests {
    private let first = ProbeLevel(["r": 1, "a": 1])
    private let second = ProbeLevel(["r": 2, "b": 2])

    private func level(_ branch: SwitchBranch) -> Switched<ProbeLevel, ProbeLevel> {
        switchLevels(first, second) { _ in branch }
    }

    @Test("A090 only the key's branch is asked, and its value, miss, failure and cancellation pass through")
    func reads() async throws {
        try await expectReadsForwarded(level(.first), to: first)
        #expect(second.calls == [])
        try await expectReadsForwarded(level(.second), to: second)
        #expect(first.calls.count == 4)
    }

    @Test(
        "A091 only the key's branch is written, and its outcome passes through",
        arguments: [SwitchBranch.first, .second]
    )
    func writes(branch: SwitchBranch) async throws {
        let (written, other) = branch == .first ? (first, second) : (second, first)
        try await level(branch).set(5, for: "k")
        #expect(written.calls == [.set("k", 5)] && other.calls == [])
        written.failSets("full")
        await #expect(throws: ProbeLevel.Failure(name: "full")) { try await level(branch).set(6, for: "k") }
        #expect(other.calls == [])
    }

    @Test("A092 clear and memory pressure reach both branches once", arguments: [SwitchBranch.first, .second])
    func clear(branch: SwitchBranch) async throws {
        try await level(branch).clear()
        level(branch).relieve(.moderate)
        for probe in [first, second] { #expect(probe.calls == [.removeAll, .relieve(.moderate)]) }
    }

    @Test(
        "A093 a key is removed from both branches, whatever would be chosen; both are tried",
        arguments: [SwitchBranch.first, .second]
    )
    func remove(branch: SwitchBranch) async throws {
        try await level(branch).remove("r")
        for probe in [first, second] { #expect(probe.calls == [.remove("r")]) }
        first.failRemoves("one")
        second.failRemoves("two")
        let error = await #expect(throws: CacheError.self) { try await level(branch).remove("r") }
        #expect(error?.causes as? [ProbeLevel.Failure] == [.init(name: "one"), .init(name: "two")])
    }

    @Test("the branch is chosen once for each get, also where memory has nothing")
    func once() async throws {
        let asked = CallCounter()
        let cache = switchLevels(MemoryLevel<String, Int>(limit: .entries(10)).compose(first), second) { _ in
            asked.count() % 2 == 0 ? .first : .second
        }
        for number in 0..<4 {
            #expect(try await cache.get("r") == (number % 2 == 0 ? 1 : 2))
            #expect(asked.value == number + 1)
        }
        // By the way of a batch, too.
        _ = try await cache.get(["r"])
        #expect(asked.value == 5)
    }

    @Test("two branches of memory are memory: a read leaves them unfilled, and leaves them out")
    func origin() async throws {
        let branches = (MemoryLevel<String, Int>(limit: .entries(10)), MemoryLevel<String, Int>(limit: .entries(10)))
        let cache = switchLevels(branches.0, branches.1) { $0 == "a" ? .first : .second }.compose(second)
        #expect(try await cache.get("b", ReadOptions(skipsFilling: [.memory])) == 2)
        #expect(branches.1.resident("b", at: .coarse) == nil)
        try await branches.1.set(7, for: "b")
        #expect(try await cache.get("b", ReadOptions(skipsReading: [.memory])) == 2)
    }

    @Test("a read that asks for the right to fill leaves out a branch that only this process changes")
    func claims() async throws {
        let gated = GatedLevel()
        let cache = switchLevels(gated, first) { $0 == "a" ? .second : .first }.compose(second)
        #expect(try await cache.get("a") == 1)
        #expect(try await cache.get("none") == nil)
        first.failGets("down")
        #expect(try await cache.get("a") == nil)
        #expect(try await cache.get(["a", "b"]) == [nil, 2])
        #expect(first.calls == [.get("a"), .get("a"), .get("a")])
    }

    @Test("A094 the choice is made afresh for each get and set")
    func afresh() async throws {
        let isSecond = Flag()
        let level = switchLevels(first, second) { _ in isSecond.isSet ? .second : .first }
        #expect(try await level.get("r") == 1)
        try await level.set(7, for: "k")
        isSecond.set()
        #expect(try await level.get("r") == 2)
        try await level.set(8, for: "k")
        #expect(first.values["k"] == 7 && second.values["k"] == 8)
    }

    @Test("A095 a branch that is a fetcher is read like any other, and a set into it is a harmless success")
    func fetcherBranch() async throws {
        let fetcher = ClosureFetcher<String, Int> { _ in 9 }
        let level = switchLevels(first, fetcher) { $0 == "f" ? .second : .first }
        try await level.set(1, for: "f")
        #expect(try await level.get("f") == 9)
        #expect(first.calls == [])
    }

    @Test("a batch asks each branch once for its keys, and answers in their order")
    func batch() async throws {
        let left = BatchProbe(["a": 1, "c": 3])
        let right = BatchProbe(["b": 2])
        let level = switchLevels(left, right) { $0 == "b" ? .second : .first }
        #expect(try await level.get(["c", "b", "x", "a"]) == [3, 2, nil, 1])
        #expect(left.batches == [["c", "x", "a"]] && right.batches == [["b"]])
    }
}

/// Counts calls.
private final class CallCounter: Sendable {
    private let calls = Locked(0)

    var value: Int { calls.withLock { $0 } }

    /// Returns how many there were before.
    func count() -> Int {
        calls.withLock { calls in
            defer { calls += 1 }
            return calls
        }
    }
}
