import StrataTesting
import Testing

@testable import Strata

@Suite("Turns of the writers of a key")
struct KeyTurnsTests {
    private final class Order: Sendable {
        private let turns = KeyTurns<String>(limit: 3)
        private let numbers = Locked<[Int]>([])

        var waiting: Int { turns.waiting }
        var count: Int { turns.count }
        var all: [Int] { numbers.withLock { $0 } }

        /// Takes the turn of a key, and notes when it is there.
        func take(_ number: Int, _ key: String = "k", _ gate: AsyncGate? = nil) async throws {
            try await turns.exclusively(key) {
                try await gate?.pass()
                numbers.withLock { $0.append(number) }
            }
        }
    }

    @Test("beyond the limit a caller is refused at once; others go on, in their order")
    func limit() async throws {
        let (order, gate) = (Order(), AsyncGate())
        let first = Task { try await order.take(0, "k", gate) }
        await gate.arrivals()
        var waiters: [Task<Void, any Error>] = []
        for number in 1...3 {
            waiters.append(Task { try await order.take(number) })
            while order.waiting < number { try await nextTurn() }
        }
        let error = await #expect(throws: CacheError.self) { try await order.take(4) }
        #expect(error?.code == .overloaded)
        try await order.take(5, "other")
        waiters[1].cancel()
        await #expect(throws: CancellationError.self) { try await waiters[1].value }
        #expect(order.waiting == 2)
        gate.open()
        try await first.value
        for waiter in [waiters[0], waiters[2]] { try await waiter.value }
        #expect(order.all == [5, 0, 1, 3])
        #expect(order.count == 0)
    }
}
