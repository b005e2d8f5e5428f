import StrataTesting
import Testing

@testable import Strata

/// Whose task a flight's work runs in, and with what.
@Suite("The task of a flight", .timeLimit(.minutes(5)))
struct FlightTaskTests {
    @TaskLocal private static var tenant = "nobody"

    @Test("the work carries no task-local value of whoever happened to come first")
    func taskLocals() async throws {
        let source = Source<String, String> { _ in Self.tenant }
        let seen = try await Self.$tenant.withValue("first") { try await source.get("k") }
        #expect(seen == "nobody")
        let pooled = ClosureFetcher<String, String> { _ in Self.tenant }.pooled()
        #expect(try await Self.$tenant.withValue("first") { try await pooled.get("k") } == "nobody")
    }

    @Test("work that was begun in the background becomes urgent when an urgent caller joins")
    func priority() async throws {
        let gate = AsyncGate()
        let source = Source<String, TaskPriority> { _ in
            try await gate.pass()
            // A read that joins is counted a moment before the work is told.
            while Task.currentPriority < .high { try await nextTurn() }
            return Task.currentPriority
        }
        let background = Task.detached(priority: .background) { try await source.get("k") }
        await gate.arrivals()
        let urgent = Task.detached(priority: .high) { try await source.get("k") }
        while source.waiting < 2 { try await nextTurn() }
        gate.open()
        #expect(try await urgent.value == .high)
        #expect(try await background.value == .high)
    }

    @Test("work keeps its priority when a less urgent caller joins")
    func lowerPriority() async throws {
        let gate = AsyncGate()
        let source = Source<String, TaskPriority> { _ in
            try await gate.pass()
            return Task.currentPriority
        }
        let urgent = Task.detached(priority: .high) { try await source.get("k") }
        await gate.arrivals()
        let background = Task.detached(priority: .background) { try await source.get("k") }
        while source.waiting < 2 { try await nextTurn() }
        gate.open()
        #expect(try await urgent.value == .high)
        _ = try await background.value
    }
}
