import StrataTesting
import Testing

@testable import Strata

@Suite("Work that a flight does within another one's", .timeLimit(.minutes(5)))
struct FlightWithinTests {
    private let gate = AsyncGate()
    private let outer = Flights<String, Int>()
    private let inner: Flights<String, Int>

    init() {
        inner = Flights(completionLimit: .seconds(60))
    }

    /// Tells one task from another.
    private static var task: Int? { unsafe withUnsafeCurrentTask { unsafe $0?.hashValue } }

    /// A read whose work is the inner flight's.
    private func read(
        _ key: String,
        limit: WaitLimit = .unlimited,
        _ work: @escaping @Sendable () async throws -> Int
    ) async throws -> Int {
        try await outer.join(key, limit: limit) { try await fly(key, within: $0, work) }.output
    }

    /// The inner flight's part of a read.
    private func fly(
        _ key: String,
        within flight: Flight,
        _ work: @escaping @Sendable () async throws -> Int
    ) async throws -> Int {
        try await inner.join(key, fingerprint: 0, limit: .unlimited, within: flight, joined: {}, work).output
    }

    /// Ends with the gate, and heeds its being cancelled.
    private func held() -> @Sendable () async throws -> Int {
        { [gate] in
            try await gate.pass()
            return 1
        }
    }

    @Test("it runs in the other's task")
    func sameTask() async throws {
        let same = try await outer.join("k") { flight in
            let task = Self.task
            return try await fly("k", within: flight) { task != nil && task == Self.task ? 1 : 0 }
        }
        #expect(same.output == 1)
        #expect(inner.count == 0 && outer.count == 0 && inner.waiting == 0)
    }

    @Test("what it throws is the other's failure")
    func failure() async {
        await #expect(throws: WaitLimitReached.self) { try await read("k") { throw WaitLimitReached() } }
        #expect(inner.count == 0 && outer.count == 0)
    }

    @Test("it goes on for others when the other's callers have left")
    func othersStay() async throws {
        let caller = Task { try await read("k", held()) }
        await gate.arrivals()
        async let joined = inner.join("k") { _ in 2 }
        while inner.waiting < 2 { try await nextTurn() }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(outer.count == 0 && inner.waiting == 1)
        gate.open()
        #expect(try await joined.output == 1)
    }

    @Test("it is cancelled with the last one who waits, of either kind")
    func lastLeaves() async throws {
        let caller = Task { try await read("k", held()) }
        await gate.arrivals()
        let other = Task { try await inner.join("k") { _ in 2 } }
        while inner.waiting < 2 { try await nextTurn() }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.value }
        #expect(inner.count == 0)

        let alone = Task { try await read("j", held()) }
        await gate.arrivals(2)
        alone.cancel()
        await #expect(throws: CancellationError.self) { try await alone.value }
        // The gate stays closed: that the work ends shows that it was cancelled.
        while inner.count + outer.count > 0 { try await nextTurn() }
    }

    @Test("a caller who joins and leaves does not end it")
    func joinerLeaves() async throws {
        let caller = Task { try await read("k", held()) }
        await gate.arrivals()
        let other = Task { try await inner.join("k") { _ in 2 } }
        while inner.waiting < 2 { try await nextTurn() }
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.value }
        gate.open()
        #expect(try await caller.value == 1)
    }

    @Test("where it is under way already the other waits for it, and leaves it with its last caller")
    func underWay() async throws {
        let first = Task {
            try await inner.join("k") { [gate] _ in
                try await gate.pass()
                return 1
            }
        }
        await gate.arrivals()
        let caller = Task { try await read("k") { 2 } }
        while inner.waiting < 2 { try await nextTurn() }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        while inner.waiting > 1 { try await nextTurn() }
        gate.open()
        #expect(try await first.value.output == 1)
    }

    @Test("it goes on in the background when the other's callers have waited long enough")
    func limit() async throws {
        let caller = Task { try await read("k", limit: WaitLimit(sinceJoining: .milliseconds(1)), held()) }
        await gate.arrivals()
        await #expect(throws: WaitLimitReached.self) { try await caller.value }
        #expect(outer.unattended == 1 && outer.launched == 0 && inner.count == 1)
        gate.open()
        #expect(await inner.drain(within: .seconds(30)))
        #expect(await outer.drain(within: .seconds(30)))
    }

    @Test("a drain that lasts too long cancels it, whichever is drained")
    func drained() async throws {
        for isInner in [true, false] {
            let gate = AsyncGate()
            let caller = Task {
                try await read("k") {
                    try await gate.pass()
                    return 1
                }
            }
            await gate.arrivals()
            let landed = isInner ? await inner.drain(within: .zero) : await outer.drain(within: .zero)
            #expect(!landed)
            await #expect(throws: CancellationError.self) { try await caller.value }
            while inner.count + outer.count > 0 { try await nextTurn() }
        }
    }

    @Test("a flight that was left before begins no more work")
    func leftBefore() async throws {
        let (runs, ended) = (Runs(), AsyncGate())
        let caller = Task {
            try await outer.join("k") { flight in
                defer { ended.open() }
                // It does not heed that it is cancelled.
                try? await gate.pass()
                return try await fly("k", within: flight) {
                    runs.add()
                    return 1
                }
            }
        }
        await gate.arrivals()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        try await ended.pass()
        #expect(runs.count == 0 && inner.count == 0)
    }
}

private final class Runs: Sendable {
    private let state = Locked(0)

    var count: Int { state.withLock { $0 } }
    func add() { state.withLock { $0 += 1 } }
}
