import Strata
import StrataTesting
import Testing

/// What closures were called with.
final class CallLog: Sendable {
    private let entries = Locked<[String]>([])

    var calls: [String] { entries.withLock { $0 } }

    func add(_ call: String) { entries.withLock { $0.append(call) } }
}

@Suite("A level made of closures")
struct ClosureLevelTests {
    struct Failure: Error, Equatable {}

    private let log = CallLog()

    private func level(value: Int? = 7, failure: Failure? = nil) -> ClosureLevel<String, Int> {
        ClosureLevel(
            get: { [log] key in
                log.add("get \(key)")
                if let failure { throw failure }
                return value
            },
            set: { [log] value, key in
                log.add("set \(key) \(value)")
                if let failure { throw failure }
            },
            remove: { [log] key in
                log.add("remove \(key)")
                if let failure { throw failure }
            },
            clear: { [log] in log.add("clear") },
            pressure: { [log] in log.add("pressure \($0)") }
        )
    }

    @Test("A001 a get runs the closure once and returns its value")
    func get() async throws {
        #expect(try await level().get("k") == 7)
        #expect(log.calls == ["get k"])
    }

    @Test("A002 the closure's own error reaches the caller")
    func getFails() async {
        await #expect(throws: Failure()) { try await level(failure: Failure()).get("k") }
    }

    @Test("A003 a cancelled get ends as cancelled and the closure sees it")
    func getCancelled() async {
        let gate = AsyncGate()
        let level = ClosureLevel<String, Int>(
            get: { _ in
                try await gate.pass()
                return 1
            },
            set: { _, _ in }
        )
        let task = Task { try await level.get("k") }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("A004 a set runs the closure with value and key")
    func set() async throws {
        try await level().set(3, for: "k")
        #expect(log.calls == ["set k 3"])
    }

    @Test("A005 a failed or cancelled set ends so")
    func setFails() async {
        await #expect(throws: Failure()) { try await level(failure: Failure()).set(1, for: "k") }
        let gate = AsyncGate()
        let slow = ClosureLevel<String, Int>(get: { _ in nil }, set: { _, _ in try await gate.pass() })
        let task = Task { try await slow.set(1, for: "k") }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("A006 clear and memory pressure run their own closure, once")
    func clear() async throws {
        try await level().clear()
        #expect(log.calls == ["clear"])
        level().relieve(.critical)
        #expect(log.calls == ["clear", "pressure critical"])
    }

    @Test("A007 a remove runs its closure, and its outcome is the caller's")
    func remove() async throws {
        try await level().remove("k")
        #expect(log.calls == ["remove k"])
        await #expect(throws: Failure()) { try await level(failure: Failure()).remove("k") }
    }

    @Test("A008 a set whose result is ignored stores nevertheless")
    func ignoredSet() async {
        let memory = MemoryLevel<String, Int>(limit: .entries(10))
        _ = try? await memory.set(1, for: "k")
        #expect(try! await memory.get("k") == 1)
    }
}

@Suite("A fetcher")
struct FetcherTests {
    struct Failure: Error, Equatable {}

    @Test("A009 value, failure and cancellation of a fetcher pass through")
    func get() async throws {
        #expect(try await ClosureFetcher<Int, Int> { $0 + 1 }.get(1) == 2)
        #expect(try await ClosureFetcher<Int, Int> { _ in nil }.get(1) == nil)
        await #expect(throws: Failure()) { try await ClosureFetcher<Int, Int> { _ in throw Failure() }.get(1) }
        let gate = AsyncGate()
        let task = Task {
            try await ClosureFetcher<Int, Int> { _ in
                try await gate.pass()
                return 1
            }
            .get(1)
        }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("A010 a set succeeds and stores nothing")
    func set() async throws {
        let fetcher = ClosureFetcher<Int, Int> { _ in 1 }
        try await fetcher.set(5, for: 1)
        #expect(try await fetcher.get(1) == 1)
    }

    @Test("A011 remove, clear and memory pressure do nothing and do not fail")
    func remove() async throws {
        let fetcher = ClosureFetcher<Int, Int> { _ in 1 }
        try await fetcher.remove(1)
        try await fetcher.clear()
        fetcher.relieve(.critical)
        #expect(try await fetcher.get(1) == 1)
    }

    @Test("a strict get throws a typed miss")
    func require() async throws {
        let error = await #expect(throws: CacheError.self) {
            try await ClosureFetcher<Int, Int> { _ in nil }.require(1)
        }
        #expect(error?.code == .miss)
        #expect(try await ClosureFetcher<Int, Int> { _ in 3 }.require(1) == 3)
    }
}

@Suite("An erased level")
struct AnyLevelTests {
    @Test("A012 an erased level is not wrapped again")
    func noSecondWrapper() {
        let erased = MemoryLevel<String, Int>(limit: .entries(1)).normalized()
        let twice: AnyLevel<String, Int> = erased.normalized()
        #expect("\(type(of: Mirror(reflecting: twice).descendant("base")!))".contains("MemoryLevel"))
    }

    @Test("A013 every call is forwarded once with its key and value")
    func forwards() async throws {
        let probe = ProbeLevel(["k": 1])
        let erased = probe.normalized()
        #expect(try await erased.get("k") == 1)
        try await erased.set(2, for: "j")
        try await erased.remove("k")
        try await erased.clear()
        erased.relieve(.moderate)
        #expect(probe.calls == [.get("k"), .set("j", 2), .remove("k"), .removeAll, .relieve(.moderate)])
    }

    @Test("A014 a thousand tasks on one level lose nothing and tear nothing")
    func concurrent() async throws {
        let level = MemoryLevel<Int, [Int]>(limit: .entries(200)).normalized()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let key = number % 50
                    switch number % 3 {
                    case 0: try await level.set([number, number, number], for: key)
                    case 1: try await level.remove(key)
                    default:
                        if let value = try await level.get(key) {
                            #expect(value.count == 3 && value.allSatisfy { $0 == value[0] && $0 % 50 == key })
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
