import Strata
import StrataTesting
import Testing

@Suite("Retry, timeout, recovery and race", .timeLimit(.minutes(5)))
struct ResilienceTests {
    struct Failure: Error, Equatable { var number: Int }

    private let clock = ManualClock()

    /// Fails a number of times, then has a value; says how often it was asked.
    private final class Flaky: Sendable {
        let log = CallLog()
        let failures: Int

        init(failures: Int) {
            self.failures = failures
        }

        var level: ClosureLevel<String, Int> {
            ClosureLevel { [self] key in
                log.add(key)
                let number = log.calls.count
                if number <= failures { throw Failure(number: number) }
                return key == "none" ? nil : number
            } set: { _, _ in
            }
        }
    }

    // MARK: Retry

    @Test("A177 work that fails is done again up to n times, after the pause; the last error is the caller's")
    func retry() async throws {
        let flaky = Flaky(failures: 2)
        let policy = RetryPolicy(times: 2, delay: .seconds(1), factor: 2, jitter: 0)
        let read = Task { [clock] in try await flaky.level.retry(policy, clock: clock).get("k") }
        await clock.sleepers(1)
        #expect(flaky.log.calls.count == 1)
        try clock.advance(by: .seconds(1))
        await clock.sleepers(2)
        #expect(flaky.log.calls.count == 2)
        try clock.advance(by: .seconds(2))
        #expect(try await read.value == 3)
        let broken = Flaky(failures: 9)
        let none = RetryPolicy(times: 2, delay: .zero, jitter: 0)
        await #expect(throws: Failure(number: 3)) { try await broken.level.retry(none).get("k") }
        #expect(broken.log.calls.count == 3)
    }

    @Test("A177 0 retries or fewer mean once; success, a miss and a cancellation are not retried", arguments: [0, -1])
    func once(times: Int) async throws {
        let flaky = Flaky(failures: 9)
        await #expect(throws: Failure(number: 1)) {
            try await flaky.level.retry(RetryPolicy(times: times, delay: .zero)).get("k")
        }
        let sound = Flaky(failures: 0)
        #expect(try await sound.level.retry().get("none") == nil)
        #expect(try await sound.level.retry().get("k") == 2)
        let log = CallLog()
        let cancelling = ClosureLevel<String, Int> { key in
            log.add(key)
            throw CancellationError()
        } set: { _, _ in
        }
        await #expect(throws: CancellationError.self) { try await cancelling.retry().get("k") }
        #expect(log.calls == ["k"])
    }

    @Test("A177 a caller that is cancelled in a pause ends at once")
    func cancelledPause() async throws {
        let flaky = Flaky(failures: 9)
        let read = Task { [clock] in try await flaky.level.retry(RetryPolicy(times: 5), clock: clock).get("k") }
        await clock.sleepers(1)
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        #expect(flaky.log.calls.count == 1)
    }

    // MARK: Timeout

    @Test("A178 work that is not done in time ends with a typed error and is cancelled; earlier outcomes pass at once")
    func timeout() async throws {
        let probe = ProbeLevel(["k": 1])
        let gate = AsyncGate()
        let level = probe.timeout(.seconds(1), clock: clock)
        #expect(try await level.get("k") == 1)
        #expect(try await level.get("none") == nil)
        probe.failGets("down")
        await #expect(throws: ProbeLevel.Failure(name: "down")) { try await level.get("k") }
        probe.failGets(nil)
        let cancelled = Flag()
        let stalling = ClosureLevel<String, Int> { _ in
            do { try await gate.pass() } catch {
                cancelled.set()
                throw error
            }
            return 1
        } set: { _, _ in
        }
        let ended = AsyncGate()
        let watched = ClosureLevel<String, Int> { key in
            defer { ended.open() }
            return try await stalling.get(key)
        } set: { _, _ in
        }
        let read = Task { [clock] in try await watched.timeout(.seconds(1), clock: clock).get("k") }
        await gate.arrivals()
        await clock.sleepers(4)
        try clock.advance(by: .seconds(1))
        let error = await #expect(throws: CacheError.self) { try await read.value }
        #expect(error?.code == .timeout)
        try await ended.pass()
        #expect(cancelled.isSet)
    }

    // MARK: Recovery

    @Test("A179 a failure is answered by the fallback; success is untouched and a cancellation is not recovered")
    func recover() async throws {
        let probe = ProbeLevel(["k": 1])
        let level = probe.recover { key, error in error as? ProbeLevel.Failure == .init(name: "down") ? key.count : nil
        }
        #expect(try await level.get("k") == 1)
        #expect(try await level.get("none") == nil)
        probe.failGets("down")
        #expect(try await level.get("abc") == 3)
        // It is as old as this moment.
        #expect(try await level.get("abc", ReadOptions(maximumAge: .seconds(60))) == 3)
        probe.failGets("other")
        #expect(try await level.get("abc") == nil)
        probe.failGets(nil)
        try await expectCancellationForwarded(probe.recover { _, _ in 7 }, to: probe)
        let throwing = probe.recover { _, _ in throw Failure(number: 1) }
        probe.failGets("down")
        await #expect(throws: Failure(number: 1)) { try await throwing.get("k") }
    }

    @Test("A179 another level can be the fallback; when both fail the caller sees its error")
    func recoverWithLevel() async throws {
        let probe = ProbeLevel(["k": 1])
        let other = ProbeLevel(["k": 2])
        let level = probe.recover(with: other)
        #expect(try await level.get("k") == 1)
        #expect(other.calls == [])
        probe.failGets("one")
        #expect(try await level.get("k") == 2)
        other.failGets("two")
        await #expect(throws: ProbeLevel.Failure(name: "two")) { try await level.get("k") }
    }

    // MARK: Race

    @Test("A180 the first outcome wins, be it a value, a miss or a failure, and the other's work is cancelled")
    func race() async throws {
        let slow = ProbeLevel(["k": 1])
        let gate = AsyncGate()
        slow.holdGets(gate)
        let fast = ProbeLevel(["k": 2])
        #expect(try await slow.race(fast).get("k") == 2)
        #expect(try await slow.race(fast).get("none") == nil)
        fast.failGets("down")
        await #expect(throws: ProbeLevel.Failure(name: "down")) { try await slow.race(fast).get("k") }
    }

    @Test(
        "a level that the options of a read leave out ends no race, and the fallback answers in its place",
        arguments: [false, true]
    )
    func leftOut(isBatch: Bool) async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(10))
        try await memory.set(1, for: "k")
        let slow = ProbeLevel(["k": 2])
        let gate = AsyncGate()
        gate.open()
        slow.holdGets(gate)
        let options = ReadOptions(skipsReading: [.memory])
        func found(_ level: some CacheLevel<String, Int>) async throws -> Int? {
            isBatch ? try await level.get(["k"], options)[0] : try await level.get("k", options)
        }
        #expect(try await found(memory.race(slow)) == 2)
        #expect(try await found(slow.race(memory)) == 2)
        #expect(try await found(memory.recover(with: slow)) == 2)
        slow.failGets("down")
        #expect(try await found(memory.race(memory)) == nil)
        #expect(try await found(slow.recover(with: memory)) == nil)
        let source = ClosureFetcher<String, Int> { _ in 3 }
        #expect(try await source.recover(with: memory).get("k", .cached) == 1)
    }

    @Test("what the loser of a race has failed with is not told")
    func losersFailures() async throws {
        let (east, west) = (ProbeLevel(["a": 1, "b": 2]), BatchOfOne())
        let notes = FailureNotes()
        var failing = ReadRequest(leavesOutFailures: true)
        failing.leftOut = notes
        let request = failing
        let gate = AsyncGate()
        east.holdGets(gate)
        let read = Task { try await east.race(west).entries(for: ["a", "b"], request) }
        await west.asked.arrivals()
        gate.open()
        #expect(try await read.value.map { $0?.value } == [1, 2])
        #expect(notes.all.isEmpty)
    }

    /// A level that fails for one key at once, and never answers for the other.
    private struct BatchOfOne: CacheLevel {
        let asked = AsyncGate()

        func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
            guard key == "b" else {
                try await asked.pass()
                return nil
            }
            throw ProbeLevel.Failure(name: "b")
        }

        func store(_ entry: Entry<Int>, for key: String) async throws {}

        func remove(_ key: String) async throws {}

        func removeAll() async throws {}
    }

    @Test("A180 by the other rule a miss or a failure is not the end while a value may come")
    func firstValue() async throws {
        let gate = AsyncGate()
        let slow = ProbeLevel(["k": 1])
        slow.holdGets(gate)
        let fast = ProbeLevel()
        let level = slow.race(fast, .firstValue)
        let read = Task { try await level.get("k") }
        await gate.arrivals()
        gate.open()
        #expect(try await read.value == 1)
        fast.failGets("down")
        #expect(try await level.get("k") == 1)
        #expect(try await level.get("none") == nil)
        slow.failGets("down too")
        await #expect(throws: (any Error).self) { try await level.get("k") }
    }

    @Test("A180 by the other rule each key of a batch has the value that one of them has")
    func firstValues() async throws {
        let (east, west) = (ProbeLevel(["a": 1, "both": 3]), ProbeLevel(["b": 2, "both": 3]))
        let level = east.race(west, .firstValue)
        #expect(try await level.get(["a", "b", "both", "none"]) == [1, 2, 3, nil])
        let third = west.race(ProbeLevel(["c": 4]), .firstValue)
        #expect(try await east.race(third, .firstValue).get(["c", "b"]) == [4, 2])
        west.failGets("down")
        #expect(try await level.get(["a", "both", "none"]) == [1, 3, nil])
        east.failGets("down too")
        await #expect(throws: ProbeLevel.Failure.self) { try await level.get(["a", "b"]) }
        #expect(try await level.batchGetSome(["a", "b"]) == [])
    }

    @Test("A180 by the other rule an absence that is remembered is not the end while a value may come")
    func firstValueOverAbsence() async throws {
        let gate = AsyncGate()
        let slow = ProbeLevel(["k": 1])
        slow.holdGets(gate)
        let knowing = MemoryLevel<String, Int>(limit: .entries(16))
        try await knowing.store(Entry(.absent), for: "k")
        let level = slow.race(knowing, .firstValue)
        let read = Task { try await level.get("k") }
        let batch = Task { try await level.get(["k"]) }
        await gate.arrivals(2)
        gate.open()
        #expect(try await read.value == 1)
        #expect(try await batch.value == [1])
    }

    @Test(
        "A180 by the other rule a value that comes at the same instant as a miss or a failure wins",
        arguments: [0, 1]
    )
    func sameInstant(place: Int) async throws {
        let value = Result<Int?, Failure>.success(1)
        for round in 0..<2_000 {
            let other: Result<Int?, Failure> =
                round.isMultiple(of: 2) ? .success(nil) : .failure(Failure(number: round))
            let gate = AsyncGate()
            let levels = (place == 0 ? [value, other] : [other, value])
                .map { outcome in
                    ClosureLevel<String, Int> { _ in
                        try await gate.pass()
                        return try outcome.get()
                    } set: { _, _ in
                    }
                }
            let read = Task { try await levels[0].race(levels[1], .firstValue).get("k") }
            await gate.arrivals(2)
            gate.open()
            guard try await read.value != 1 else { continue }
            Issue.record("round \(round)")
            return
        }
    }

    @Test("A180 cancelling the race cancels all")
    func cancelledRace() async throws {
        let gate = AsyncGate()
        let levels = [ProbeLevel(["k": 1]), ProbeLevel(["k": 2])]
        for level in levels { level.holdGets(gate) }
        let read = Task { try await levels[0].race(levels[1]).get("k") }
        await gate.arrivals(2)
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
    }
}
