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

    /// A key with an instance for each caller; all are equal.
    private final class Name: Hashable, Sendable {
        private let farewell: Farewell?

        init(_ farewell: Farewell? = nil) { self.farewell = farewell }

        static func == (left: Name, right: Name) -> Bool { true }

        func hash(into hasher: inout Hasher) {}
    }

    @Test("the key of a caller that has gone may ask for turns when it is released", .timeLimit(.minutes(5)))
    func released() async throws {
        let (turns, gate, next) = (KeyTurns<Name>(), AsyncGate(), AsyncGate())
        let freed = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            let farewell = Farewell {
                _ = turns.count
                freed.continuation.yield()
            }
            try await turns.exclusively(Name(farewell)) { try await gate.pass() }
        }
        await gate.arrivals()
        let second = Task { try await turns.exclusively(Name()) { try await next.pass() } }
        while turns.waiting < 1 { try await nextTurn() }
        gate.open()
        try await first.value
        await next.arrivals()
        next.open()
        var farewells = freed.stream.makeAsyncIterator()
        try #require(await farewells.next() != nil)
        try await second.value
        #expect(turns.count == 0)
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
