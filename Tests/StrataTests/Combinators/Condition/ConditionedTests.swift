import Strata
import StrataTesting
import Synchronization
import Testing

@Suite("A conditioned level")
struct ConditionedTests {
    struct Refusal: Error, Equatable {}

    private let probe = ProbeLevel(["k": 1])
    private let asked = CallLog()

    /// A condition that suspends, answers or throws, and takes down for which keys it was asked.
    private func condition(_ answer: Bool?) -> @Sendable (String) async throws -> Bool {
        { [asked] key in
            await Task.yield()
            asked.add(key)
            guard let answer else { throw Refusal() }
            return answer
        }
    }

    @Test("A041 a condition that holds lets value, miss, failure and cancellation through")
    func holds() async throws {
        try await expectReadsForwarded(probe.conditioned(condition(true)), to: probe)
        try await expectReadsForwarded(probe.conditioned { _ in true }, to: probe)
    }

    @Test("A042 A048 a condition that throws: the level is not asked, and the error is the caller's")
    func throwing() async {
        await #expect(throws: Refusal()) { try await probe.conditioned(condition(nil)).get("k") }
        await #expect(throws: Refusal()) { try await probe.conditioned { _ in throw Refusal() }.get("k") }
        #expect(probe.calls == [])
    }

    @Test("A048 a condition that is cancelled ends the get as cancelled: it always ends")
    func cancelledCondition() async throws {
        let gate = AsyncGate()
        let level = probe.conditioned { _ in
            try await gate.pass()
            return true
        }
        let read = Task { try await level.get("k") }
        await gate.arrivals()
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        #expect(probe.calls == [])
    }

    @Test("A043 a condition that does not hold: the level is not asked, and a typed error says so")
    func doesNotHold() async {
        for error in [
            await #expect(throws: CacheError.self) { try await probe.conditioned(condition(false)).get("k") },
            await #expect(throws: CacheError.self) { try await probe.conditioned { _ in false }.get("k") },
        ] {
            #expect(error?.code == .conditionNotSatisfied)
        }
        #expect(probe.calls == [])
    }

    @Test("A044 writes, clear and memory pressure do not ask the condition", arguments: [true, false, nil])
    func writes(answer: Bool?) async throws {
        try await expectWritesForwarded(probe.conditioned(condition(answer)), to: probe)
        #expect(asked.calls == [])
    }

    @Test("A045 the condition is asked for every get")
    func neverRemembered() async throws {
        let level = probe.conditioned(condition(true))
        _ = try await level.get("k")
        _ = try await level.get("k")
        #expect(asked.calls == ["k", "k"])
    }

    @Test("A046 above another level a condition that does not hold sends the read on, and what is found is kept")
    func aboveAnother() async throws {
        let lower = ProbeLevel(["k": 2])
        let cache = probe.conditioned(condition(false)).compose(lower, fillWaitLimit: .seconds(600))
        #expect(try await cache.get("k") == 2)
        #expect(probe.calls == [.set("k", 2)])
    }

    @Test("A047 as the only level, or the last, it ends the get with the condition's error")
    func last() async throws {
        let alone = await #expect(throws: CacheError.self) { try await probe.conditioned(condition(false)).get("k") }
        #expect(alone?.code == .conditionNotSatisfied)
        let below = ProbeLevel().compose(probe.conditioned(condition(false)))
        let last = await #expect(throws: CacheError.self) { try await below.get("k") }
        #expect(last?.code == .conditionNotSatisfied)
        await #expect(throws: Refusal()) {
            try await ProbeLevel().compose(probe.conditioned(condition(nil))).get("k")
        }
    }

    @Test("only a condition that holds and does not suspend lets a hit in memory be answered without suspending")
    func resident() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        try await memory.set(1, for: "k")
        #expect(memory.conditioned { _ in true }.resident("k", at: .now)?.value == 1)
        #expect(memory.conditioned { _ in false }.resident("k", at: .now) == nil)
        #expect(memory.conditioned { _ in throw Refusal() }.resident("k", at: .now) == nil)
        #expect(memory.conditioned(condition(true)).resident("k", at: .now) == nil)
        let error = await #expect(throws: CacheError.self) { try await memory.conditioned { _ in false }.get("k") }
        #expect(error?.code == .conditionNotSatisfied)
    }

    @Test("a batch asks below by one call for the keys for which the condition holds")
    func batch() async throws {
        let below = BatchProbe(["a": 1, "b": 2, "c": 3])
        let level = below.conditioned { $0 != "b" }
        #expect(try await level.batchGetSome(["a", "b", "c"]) == [1, 3])
        #expect(below.batches == [["a", "c"]])
        let error = await #expect(throws: CacheError.self) { try await level.get(["a", "b", "c"]) }
        #expect(error?.code == .conditionNotSatisfied)
        #expect(below.batches.count == 1)
        #expect(try await level.get(["c", "a"]) == [3, 1])
        let suspending = below.conditioned { key in
            await Task.yield()
            return key != "c"
        }
        #expect(try await suspending.batchGetSome(["a", "b", "c"]) == [1, 2])
    }

    @Test("A045 the condition of a key that memory holds is asked once a get", arguments: [true, false, nil])
    func askedOnce(answer: Bool?) async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        try await memory.set(1, for: "k")
        let level = memory.conditioned { [asked] (key: String) in
            asked.add(key)
            guard let answer else { throw Refusal() }
            return answer
        }
        _ = try? await level.get("k")
        #expect(asked.calls == ["k"])
        let below = ProbeLevel(["k": 2])
        let cache = level.compose(below)
        #expect(try await cache.get("k") == (answer == true ? 1 : 2))
        #expect(asked.calls == ["k", "k"])
        let wrapped = level.retry(RetryPolicy(times: 0)).capped(2).recover { _, _ in 3 }.normalized()
        #expect(try await wrapped.get("k") == (answer == true ? 1 : 3))
        #expect(asked.calls == ["k", "k", "k"])
    }

    @Test("A045 the condition of a key whose entry in memory is void is asked once a get")
    func askedOnceVoid() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        let level = memory.conditioned { [asked] (key: String) in
            asked.add(key)
            return true
        }
        let below = GatedLevel(["k": 1])
        let cache = level.compose(below)
        #expect(try await cache.get("k") == 1)
        #expect(asked.calls == ["k"])
        below.changeElsewhere(2, for: "k")
        #expect(try await cache.get("k") == 2)
        #expect(asked.calls == ["k", "k"])
    }

    @Test("a read that only waits for what another has left asks neither condition nor recovery")
    func waiting() async throws {
        var request = ReadRequest()
        request.awaited = LeftFlights()
        let base = ProbeLevel(["k": 1])
        let level = base.conditioned { [asked] (key: String) in
            asked.add(key)
            return false
        }
        #expect(try await level.entry(for: "k", request)?.value == 1)
        #expect(asked.calls == [])
        base.failGets("down")
        let recovered = base.recover { [asked] key, _ in
            asked.add(key)
            return 2
        }
        await #expect(throws: ProbeLevel.Failure(name: "down")) { try await recovered.entry(for: "k", request) }
        #expect(asked.calls == [])
    }

    @Test("A045 each attempt of a read that is tried again asks the condition anew")
    func askedForEachAttempt() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        try await memory.set(1, for: "k")
        let level =
            memory.conditioned { [asked] (key: String) in
                asked.add(key)
                return asked.calls.count > 2
            }
            .retry(RetryPolicy(times: 3, delay: .zero))
        #expect(try await level.get("k") == 1)
        #expect(asked.calls.count == 3)
    }
}
