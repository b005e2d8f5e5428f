import StrataTesting
import Testing

@testable import Strata

@Suite("Flights of keys that have one hash", .timeLimit(.minutes(5)))
struct FlightHashTests {
    /// A key whose hash tells nothing.
    private struct Poor: Hashable, Sendable {
        let name: String

        func hash(into hasher: inout Hasher) {}
    }

    private let held = AsyncGate()
    private let flights = Flights<Poor, String>()

    private func get(_ name: String) -> Task<String, any Error> {
        Task {
            try await flights.join(Poor(name: name)) { [held] _ in
                try await held.pass()
                return name
            }
            .output
        }
    }

    @Test("each key has its flight, and is joined and voided by itself")
    func apart() async throws {
        let names = ["a", "b", "c", "d"]
        let first = names.map { get($0) }
        await held.arrivals(4)
        // In the middle of the chain, and at either end of it.
        for name in ["b", "d", "a"] {
            flights.void(Poor(name: name))
            #expect(!flights.isUnderWay(Poor(name: name)))
        }
        #expect(flights.isUnderWay(Poor(name: "c")))
        let second = names.map { get($0) }
        await held.arrivals(7)
        while flights.waiting < 8 { try await nextTurn() }
        #expect(flights.count == 7)
        held.open()
        for (task, name) in zip(first + second, names + names) { #expect(try await task.value == name) }
        #expect(flights.count == 0 && flights.waiting == 0)
        for name in names { #expect(!flights.isUnderWay(Poor(name: name))) }
    }

    @Test("flights that land in any order leave the others to be joined")
    func landing() async throws {
        let first = ["a", "b", "c"].map { get($0) }
        await held.arrivals(3)
        first[1].cancel()
        await #expect(throws: CancellationError.self) { try await first[1].value }
        #expect(flights.isUnderWay(Poor(name: "a")) && flights.isUnderWay(Poor(name: "c")))
        #expect(!flights.isUnderWay(Poor(name: "b")) && flights.count == 2)
        flights.voidAll()
        #expect(!flights.isUnderWay(Poor(name: "a")) && !flights.isUnderWay(Poor(name: "c")))
        held.open()
        #expect(try await first[0].value == "a")
        #expect(try await first[2].value == "c")
    }
}
