import StrataTesting
import Testing

@testable import Strata

@Suite("The results of flights without waiters", .timeLimit(.minutes(5)))
struct UnclaimedFlightTests {
    private final class Log: Sendable {
        private let state = Locked<[Int]>([])

        var outputs: [Int] { state.withLock { $0 } }
        func add(_ output: Int) { state.withLock { $0.append(output) } }
    }

    private let log = Log()
    private let held = AsyncGate()
    private let flights: Flights<String, Int>

    init() {
        flights = Flights { [log] output in log.add(output) }
    }

    @Test("what a caller gets is claimed; so is what callers share")
    func claimed() async throws {
        async let one = flights.join("k") { [held] _ in
            try await held.pass()
            return 1
        }
        await held.arrivals()
        async let other = flights.join("k") { _ in 2 }
        while flights.waiting < 2 { try await nextTurn() }
        held.open()
        let outputs = try await [one.output, other.output]
        #expect(outputs == [1, 1] && log.outputs.isEmpty)
    }

    @Test("a drain returns when all flights have landed, and not with the first of them")
    func drained() async throws {
        let other = AsyncGate()
        for (key, gate) in [("k", held), ("l", other)] {
            flights.launch(key) {
                try await gate.pass()
                return 1
            }
            await gate.arrivals()
        }
        let hasDrained = Locked(false)
        let drain = Task { [flights] in
            let landed = await flights.drain(within: .seconds(30))
            hasDrained.withLock { $0 = true }
            return landed
        }
        while flights.table.state.withLock({ $0.drainers.isEmpty }) { try await nextTurn() }
        held.open()
        while log.outputs.isEmpty { try await nextTurn() }
        for _ in 0..<100 { try await nextTurn() }
        #expect(!hasDrained.withLock { $0 })
        other.open()
        #expect(await drain.value)
        #expect(log.outputs == [1, 1])
    }

    @Test("a flight that was begun without waiters is unclaimed, unless a read has joined")
    func launched() async throws {
        flights.launch("k") { 1 }
        while log.outputs != [1] { try await nextTurn() }
        flights.launch("k") { [held] in
            try await held.pass()
            return 2
        }
        await held.arrivals()
        // No caller has left it.
        #expect(flights.launched == 1 && flights.unattended == 0)
        async let joined = flights.join("k") { _ in 3 }
        while flights.waiting < 1 { try await nextTurn() }
        held.open()
        let output = try await joined.output
        #expect(output == 2 && log.outputs == [1])
        #expect(flights.launched == 0 && flights.unattended == 0)
    }

    @Test("what is brought after the last caller has left is unclaimed; failures are not told")
    func left() async throws {
        let caller = Task {
            try await flights.join("k") { [held] _ in
                // It is cancelled with its last caller, and brings something all the same.
                try? await held.pass()
                return 1
            }
        }
        await held.arrivals()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        while log.outputs.isEmpty { try await nextTurn() }
        flights.launch("k") { throw CancellationError() }
        await flights.drain(within: .seconds(30))
        #expect(log.outputs == [1])
    }
}
