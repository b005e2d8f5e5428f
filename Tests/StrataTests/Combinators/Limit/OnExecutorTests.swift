import Foundation
import Strata
import StrataTesting
import Testing

/// Runs jobs on threads of its own, and knows whether the thread that asks is one of them.
private final class MarkedExecutor: TaskExecutor {
    private let running = Locked(0)
    private let queue = DispatchQueue(label: "own")
    private static let mark = DispatchSpecificKey<Bool>()

    init() { queue.setSpecific(key: Self.mark, value: true) }

    var jobs: Int { running.withLock { $0 } }

    /// Whether the thread runs a job of such an executor now.
    static var isHere: Bool { DispatchQueue.getSpecific(key: mark) == true }

    func enqueue(_ job: consuming ExecutorJob) {
        running.withLock { $0 += 1 }
        let unowned = UnownedJob(job)
        queue.async { unowned.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Says on which thread each call came.
private struct WhereLevel: CacheLevel {
    let log: CallLog

    private func note(_ call: String) {
        log.add("\(call) \(MarkedExecutor.isHere ? "there" : "anywhere")")
    }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        note("get \(key)")
        if key == "fails" { throw ProbeLevel.Failure(name: "A") }
        return Entry(value: 1)
    }

    func store(_ entry: Entry<Int>, for key: String) async throws { note("set \(key) \(entry.value ?? 0)") }
    func remove(_ key: String) async throws { note("remove \(key)") }
    func removeAll() async throws { note("clear") }
    func relieve(_ pressure: MemoryPressure) { note("relieve") }
}

@Suite("A level on an executor")
struct OnExecutorTests {
    private let executor = MarkedExecutor()
    private let log = CallLog()

    @Test("A067 A069 every call runs there with its key and value")
    func runsThere() async throws {
        let level = WhereLevel(log: log).onExecutor(executor)
        _ = try await level.get("k")
        _ = try await level.get(["a", "b"])
        try await level.set(3, for: "k")
        try await level.remove("k")
        try await level.clear()
        let before = log.calls
        #expect(before.filter { $0.hasSuffix("there") } == before)
        #expect(before.first == "get k there")
        #expect(Array(before.suffix(3)) == ["set k 3 there", "remove k there", "clear there"])
        level.relieve(.moderate)
        while log.calls.last != "relieve there" { try await nextTurn() }
        #expect(executor.jobs > 0)
    }

    @Test("A067 also when the caller is on an actor")
    @MainActor
    func fromActor() async throws {
        _ = try await WhereLevel(log: log).onExecutor(executor).get("k")
        #expect(log.calls == ["get k there"])
        _ = try await WhereLevel(log: log).get("k")
        #expect(log.calls.last == "get k anywhere")
    }

    @Test("A068 value, failure and cancellation reach the caller")
    func outcomes() async throws {
        let level = WhereLevel(log: log).onExecutor(executor)
        #expect(try await level.get("k") == 1)
        await #expect(throws: ProbeLevel.Failure(name: "A")) { try await level.get("fails") }
        let probe = ProbeLevel()
        try await expectReadsForwarded(probe.onExecutor(executor), to: probe)
        let gate = AsyncGate()
        probe.holdSets(gate)
        let write = Task { try await probe.onExecutor(executor).set(1, for: "k") }
        await gate.arrivals()
        write.cancel()
        await #expect(throws: CancellationError.self) { try await write.value }
    }
}
