import Logging
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@Suite("Reading through two levels")
struct ComposedReadTests {
    private let upper = ProbeLevel()
    private let lower = ProbeLevel()

    @Test("A015 a hit above asks no level below and writes nothing")
    func hitAbove() async throws {
        upper.put(1, for: "k")
        #expect(try await upper.compose(lower).get("k") == 1)
        #expect(upper.calls == [.get("k")])
        #expect(lower.calls == [])
    }

    @Test("A016 A017 A018 A019 a miss above asks below once, returns its value and fills above only")
    func missAbove() async throws {
        lower.put(2, for: "k")
        #expect(try await upper.compose(lower).get("k") == 2)
        #expect(upper.calls == [.get("k"), .set("k", 2)])
        #expect(lower.calls == [.get("k")])
    }

    @Test("A020 when both miss there is no value, after one get each")
    func bothMiss() async throws {
        #expect(try await upper.compose(lower).get("k") == nil)
        #expect(upper.calls == [.get("k")])
        #expect(lower.calls == [.get("k")])
    }

    @Test(
        "A021 whatever happened above, the last level's error reaches the caller as it was thrown",
        arguments: [0, 1, 2]
    )
    func bothFail(above: Int) async throws {
        if above == 1 { upper.failGets("A") }
        lower.failGets("B")
        let excluded = upper.conditioned { _ in above < 2 }
        let cache = excluded.compose(lower)
        await #expect(throws: ProbeLevel.Failure(name: "B")) { try await cache.get("k") }
        await #expect(throws: ProbeLevel.Failure(name: "B")) { try await cache.get(["k", "l"]) }
        let nested = MemoryLevel<String, Int>(limit: .entries(4)).compose(cache)
        await #expect(throws: ProbeLevel.Failure(name: "B")) { try await nested.get("k") }
        let recovered = ProbeLevel().compose(excluded.recover(with: lower))
        if above > 0 { await #expect(throws: ProbeLevel.Failure(name: "B")) { try await recovered.get("k") } }
    }

    @Test("A021 a read that fails above stands in the trace, is counted, and is logged once in a while")
    func failureAbove() async throws {
        let log = LogRecorder()
        upper.failGets("A")
        lower.put(2, for: "k")
        lower.put(2, for: "l")
        let cache = upper.compose(lower, logger: log.logger)
        let (value, trace) = try await cache.getWithTrace("k")
        #expect(value == 2)
        #expect(trace.steps.first?.event == .failed)
        #expect(trace.steps.first?.origin.description == upper.label.kind)
        #expect(trace.steps.first?.error == "Failure")
        #expect(try await cache.get(["k", "l"]) == [2, 2])
        #expect(cache.failedReads == 3)
        #expect(cache.label.counters.contains(.init("failed_reads", 3)))
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.level == .warning)
        #expect(log.lines.first?.text.contains("error=Failure") == true)
        let excluded = ProbeLevel().conditioned { _ in false }.compose(lower, logger: log.logger)
        let (_, other) = try await excluded.getWithTrace("k")
        #expect(other.steps.first?.event == .excluded)
        #expect(excluded.failedReads == 0)
        #expect(log.lines.count == 1)
        // Also when the read fails as a whole there is an account of it.
        lower.failGets("B")
        let recorder = ReadTraceRecorder()
        _ = try? await cache.entry(for: "k", ReadRequest(recorder: recorder))
        #expect(recorder.steps.map(\.event) == [.failed])
    }

    @Test(
        "A028 a fill that hangs holds up no read for longer than it waits; it goes on, and is drained",
        .timeLimit(.minutes(5))
    )
    func fillHangs() async throws {
        let gate = AsyncGate()
        upper.holdSets(gate)
        for key in ["a", "b", "c"] { lower.put(1, for: key) }
        let log = LogRecorder()
        let cache = upper.compose(lower, fillWaitLimit: .milliseconds(5), logger: log.logger)
        let (value, trace) = try await cache.getWithTrace("a")
        #expect(value == 1)
        #expect(trace.steps.last?.event == .filling)
        #expect(upper.values == [:])
        // Others do not wait at all.
        #expect(try await cache.get(["b", "c"]) == [1, 1])
        #expect(cache.lateFills == 3)
        #expect(cache.failedFills == 0)
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(upper.values == ["a": 1, "b": 1, "c": 1])
        upper.holdSets(nil)
        upper.failSets("A")
        lower.put(1, for: "d")
        #expect(try await cache.get("d") == 1)
        await cache.drain(within: .seconds(30))
        #expect(cache.failedFills == 1)
        #expect(log.lines.count == 1)
    }

    @Test("fills that hang are bounded in number; what is over is counted as failed", .timeLimit(.minutes(5)))
    func fillsAreBounded() async throws {
        let gate = AsyncGate()
        upper.holdSets(gate)
        // By a clock that stands still: no fill is given up because the loop takes long.
        let cache = ManualClock().driving { upper.compose(lower, fillWaitLimit: .zero, logger: LogRecorder().logger) }
        for number in 0..<100 {
            lower.put(number, for: "\(number)")
            #expect(try await cache.get("\(number)") == number)
        }
        #expect(cache.lateFills == 64)
        #expect(cache.failedFills == 36)
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(upper.values.count == 64)
    }

    @Test("memory is filled in the task of the read, without a wait")
    func memoryFills() async throws {
        lower.put(1, for: "k")
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        let cache = memory.compose(lower, fillWaitLimit: .zero)
        #expect(try await cache.get("k") == 1)
        #expect(memory.resident("k", at: .now)?.value == 1)
        #expect(cache.lateFills == 0)
    }

    @Test("A022 any failure above still asks below")
    func upperFails() async throws {
        upper.failGets("A")
        lower.put(2, for: "k")
        #expect(try await upper.compose(lower).get("k") == 2)
    }

    @Test("A023 what only the bottom has is afterwards in every level")
    func threeLevels() async throws {
        let bottom = ProbeLevel(["k": 3])
        let cache = upper.compose(lower).compose(bottom, fillWaitLimit: .seconds(600))
        #expect(try await cache.get("k") == 3)
        #expect(upper.values == ["k": 3])
        #expect(lower.values == ["k": 3])
        #expect(try await cache.get("k") == 3)
        #expect(bottom.gets == 1)
    }

    @Test("A024 composition is associative", arguments: [0, 1, 2, 3])
    func associative(present: Int) async throws {
        /// Runs the same operations on a composition; returns everything that can be seen of it.
        func run<Cache: CacheLevel<String, Int>>(
            _ levels: [ProbeLevel],
            _ cache: Cache
        ) async throws -> [String] {
            if present < 3 { levels[present].put(9, for: "k") }
            var seen: [String] = []
            seen.append("\(String(describing: try await cache.get("k")))")
            seen.append("\(levels.map(\.values))")
            try await cache.set(4, for: "k")
            seen.append("\(levels.map(\.values))")
            try await cache.remove("k")
            seen.append("\(String(describing: try await cache.get("k"))) \(levels.map(\.values))")
            levels[2].put(5, for: "k")
            seen.append("\(String(describing: try await cache.get("k"))) \(levels.map(\.values))")
            seen.append("\(levels.map(\.gets))")
            return seen
        }
        func three() -> [ProbeLevel] { [ProbeLevel(), ProbeLevel(), ProbeLevel()] }
        let right = three()
        let left = three()
        let chained = three()
        let expected = try await run(right, right[0].compose(right[1].compose(right[2])))
        // Erased, so that the left pair really stays a level of its own.
        let pair = left[0].compose(left[1]).normalized()
        #expect(try await run(left, pair.compose(left[2], fillWaitLimit: .seconds(600))) == expected)
        let other = chained[0].compose(chained[1])
        #expect(try await run(chained, other.compose(chained[2], fillWaitLimit: .seconds(600))) == expected)
    }

    @Test("A025 cancelled while the upper level is pending: the lower is not asked, nothing is written")
    func cancelledAbove() async throws {
        let gate = AsyncGate()
        upper.holdGets(gate)
        lower.put(1, for: "k")
        let cache = upper.compose(lower)
        let task = Task { try await cache.get("k") }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(lower.calls == [])
        #expect(upper.calls == [.get("k")])
    }

    @Test("A026 cancelled while the lower level is pending: the upper is not written")
    func cancelledBelow() async throws {
        let gate = AsyncGate()
        lower.put(1, for: "k")
        lower.holdGets(gate)
        let cache = upper.compose(lower)
        let task = Task { try await cache.get("k") }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(upper.calls == [.get("k")])
    }

    @Test("A027 a failed fill is counted and the value returned")
    func failedFill() async throws {
        upper.failSets("A")
        lower.put(1, for: "k")
        let cache = upper.compose(lower)
        #expect(try await cache.get("k") == 1)
        #expect(cache.failedFills == 1)
    }

    @Test("A028 a get waits for the fill")
    func fillIsAwaited() async throws {
        let gate = AsyncGate()
        upper.holdSets(gate)
        lower.put(1, for: "k")
        let cache = upper.compose(lower, fillWaitLimit: .seconds(600))
        let task = Task { try await cache.get("k") }
        await gate.arrivals()
        #expect(upper.values == [:])
        gate.open()
        #expect(try await task.value == 1)
        #expect(upper.values == ["k": 1])
    }

    @Test("several keys ask below only for those that are missing, in one call, in the order of the keys")
    func batch() async throws {
        upper.put(1, for: "a")
        lower.put(2, for: "b")
        let cache = upper.compose(lower)
        #expect(try await cache.get(["b", "a", "c", "b"]) == [2, 1, nil, 2])
        #expect(upper.values == ["a": 1, "b": 2])
        #expect(try await cache.get([] as [String]) == [])
    }

    @Test("one key of a batch that fails above, or is excluded there, is asked for below, and no other")
    func batchFailure() async throws {
        struct Unreadable: Error {}
        let failing = ClosureLevel<String, Int>(
            get: { key in
                if key == "b" { throw Unreadable() }
                return 1
            },
            set: { _, _ in }
        )
        let below = BatchProbe(["a": 2, "b": 2, "c": 2])
        #expect(try await failing.compose(below).get(["a", "b", "c"]) == [1, 2, 1])
        let holding = ProbeLevel(["a": 1, "b": 1, "c": 1])
        let excluded = holding.conditioned { $0 != "b" }.compose(below)
        #expect(try await excluded.get(["a", "b", "c"]) == [1, 2, 1])
        let suspending = holding.conditioned { key in
            await Task.yield()
            return key != "c"
        }
        #expect(try await suspending.compose(below).batchGetAll(["a", "b", "c"]) == [1, 2, 2])
        #expect(below.batches == [["b"], ["b"], ["c"]])
    }

    @Test("a batch of which a key is cancelled above ends as cancelled")
    func batchCancelledAbove() async throws {
        let cancelling = ClosureLevel<String, Int>(get: { _ in throw CancellationError() }, set: { _, _ in })
        await #expect(throws: CancellationError.self) { try await cancelling.compose(lower).get(["a", "b"]) }
        #expect(lower.calls == [])
    }

    @Test("a stale entry above is served when the level below fails, and only then")
    func staleOnError() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        let now = MonotonicInstant.now
        let stale = Entry(
            .value(1),
            freshUntil: now.advanced(by: .seconds(-1)),
            staleUntil: now.advanced(by: .seconds(60))
        )
        try await memory.store(stale, for: "k")
        let cache = memory.compose(lower)
        lower.failGets("B")
        let (value, trace) = try await cache.getWithTrace("k")
        #expect(value == 1)
        #expect(trace.state == .stale)
        lower.failGets(nil)
        lower.put(2, for: "k")
        #expect(try await cache.get("k") == 2)
    }
}
