import StrataTesting
import Testing

@testable import Strata

@Suite("A capped level")
struct CappedTests {
    private let probe = ProbeLevel(["a": 1, "b": 2, "c": 3, "d": 4])
    private let gate = AsyncGate()

    /// Waits until as many reads wait for a slot.
    private func waiting<Base>(_ count: Int, for level: Capped<Base>) async throws {
        while level.waiting != count { try await nextTurn() }
    }

    @Test("A059 up to the limit all reach the level with their keys")
    func upToLimit() async throws {
        probe.holdGets(gate)
        let level = probe.capped(2)
        let reads = ["a", "b"].map { key in Task { try await level.get(key) } }
        await gate.arrivals(2)
        #expect(Set(probe.calls.map { "\($0)" }) == ["get(\"a\")", "get(\"b\")"])
        gate.open()
        #expect(try await reads[0].value == 1)
        #expect(try await reads[1].value == 2)
    }

    private final class Running: Sendable {
        private let counts = Locked((now: 0, most: 0))

        var now: Int { counts.withLock { $0.now } }

        var most: Int { counts.withLock { $0.most } }

        func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }

        func end() { counts.withLock { $0.now -= 1 } }
    }

    @Test("A060 A061 one more waits for a slot, and then has its own value or error", arguments: [false, true])
    func waits(fails: Bool) async throws {
        let own = [AsyncGate(), AsyncGate()]
        let log = CallLog()
        let level = ClosureFetcher<Int, Int> { key in
            log.add("\(key)")
            if key < 2 { try await own[key].pass() }
            if fails { throw ProbeLevel.Failure(name: "\(key)") }
            return key * 10
        }
        .capped(2)
        let first = Task { try await level.get(0) }
        let second = Task { try await level.get(1) }
        await own[0].arrivals()
        await own[1].arrivals()
        let third = Task { try await level.get(2) }
        try await waiting(1, for: level)
        #expect(log.calls.sorted() == ["0", "1"])
        own[0].open()
        if fails {
            await #expect(throws: ProbeLevel.Failure(name: "0")) { try await first.value }
            await #expect(throws: ProbeLevel.Failure(name: "2")) { try await third.value }
        } else {
            #expect(try await first.value == 0)
            #expect(try await third.value == 20)
        }
        own[1].open()
        _ = try? await second.value
        #expect(level.running == 0 && level.waiting == 0)
    }

    @Test("A062 writes, clear and memory pressure are not limited")
    func writes() async throws {
        probe.holdGets(gate)
        let level = probe.capped(1)
        let read = Task { try await level.get("a") }
        await gate.arrivals()
        try await expectWritesForwarded(level, to: probe)
        gate.open()
        _ = try await read.value
    }

    @Test("A063 at no instant are more than the limit running, whatever the concurrency")
    func strict() async throws {
        let running = Running()
        let level = ClosureFetcher<Int, Int> { key in
            running.begin()
            for _ in 0..<(key % 5) { await Task.yield() }
            running.end()
            if key % 7 == 0 { throw ProbeLevel.Failure(name: "\(key)") }
            return key
        }
        // A cancelled read that does not end within its grace loses its slot while it still runs.
        .capped(by: FetchLimiter(limit: 3, grace: .seconds(600)))
        await withTaskGroup(of: Void.self) { group in
            for key in 0..<2000 {
                group.addTask {
                    if key % 11 == 0 {
                        let read = Task { try await level.get(key) }
                        read.cancel()
                        _ = try? await read.value
                    } else {
                        _ = try? await level.get(key)
                    }
                }
            }
        }
        #expect(running.most <= 3)
        #expect(running.now == 0)
        #expect(level.running == 0 && level.waiting == 0)
    }

    @Test("A064 cancelled while waiting: leaves without running; cancelled while running: frees the slot")
    func cancellation() async throws {
        probe.holdGets(gate)
        let level = probe.capped(1)
        let running = Task { try await level.get("a") }
        await gate.arrivals()
        let given = Task { try await level.get("b") }
        try await waiting(1, for: level)
        let staying = Task { try await level.get("c") }
        try await waiting(2, for: level)
        given.cancel()
        await #expect(throws: CancellationError.self) { try await given.value }
        #expect(level.waiting == 1)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        await gate.arrivals(2)
        gate.open()
        #expect(try await staying.value == 3)
        #expect(probe.calls == [.get("a"), .get("c")])
    }

    @Test("A065 a whole batch takes one slot")
    func batch() async throws {
        let below = BatchProbe(["a": 1, "b": 2, "c": 3])
        below.inner.holdGets(gate)
        let level = below.capped(1)
        let batch = Task { try await level.get(["a", "b", "c"]) }
        await gate.arrivals()
        #expect(level.running == 1)
        let single = Task { try await level.get("a") }
        try await waiting(1, for: level)
        gate.open()
        #expect(try await batch.value == [1, 2, 3])
        #expect(try await single.value == 1)
        // A level that is asked for each key by itself, too: three keys under a limit of one do not lock each other
        // out.
        #expect(try await ProbeLevel(["a": 1, "b": 2]).capped(1).get(["a", "b", "a"]) == [1, 2, 1])
    }

    @Test("A066 those who wait start in the order of their arrival")
    func order() async throws {
        let log = CallLog()
        let first = AsyncGate()
        let level = ClosureFetcher<Int, Int> { key in
            log.add("\(key)")
            if key == 0 { try await first.pass() }
            return key
        }
        .capped(1)
        var reads = [Task { try await level.get(0) }]
        await first.arrivals()
        for key in 1...50 {
            reads.append(Task { try await level.get(key) })
            try await waiting(key, for: level)
        }
        for key in [7, 8, 30] { reads[key].cancel() }
        for key in [7, 8, 30] { _ = try? await reads[key].value }
        first.open()
        for (key, read) in reads.enumerated() where ![7, 8, 30].contains(key) { _ = try await read.value }
        #expect(log.calls == (0...50).filter { ![7, 8, 30].contains($0) }.map { "\($0)" })
    }

    @Test("a hit in memory takes no slot")
    func resident() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        try await memory.set(9, for: "k")
        probe.holdGets(gate)
        let level = memory.compose(probe).capped(1)
        let read = Task { try await level.get("a") }
        await gate.arrivals()
        #expect(try await level.get("k") == 9)
        gate.open()
        #expect(try await read.value == 1)
    }

    @Test("a limit below one counts as one")
    func least() async throws {
        #expect(try await probe.capped(0).get("a") == 1)
        #expect(try await probe.capped(-5).get("a") == 1)
    }
}
