import StrataTesting
import Testing

@testable import Strata

@Suite("Flights while changes are not heard of")
struct UntrustedFlightTests {
    private let lower = ProbeLevel(["k": 1])
    private let held = AsyncGate()

    /// The lower level, pooled, its gets held after they have read.
    private func pool(_ gate: FillGate) -> Pooled<Overheard> {
        lower.holdGets(held)
        return Overheard(base: lower, gate: gate).pooled()
    }

    /// Begins a get and returns when it waits for a flight with as many others as given.
    private func board(
        _ cache: some CacheLevel<String, Int>,
        _ pool: Pooled<Overheard>,
        waiters: Int
    ) async throws -> Task<Int?, any Error> {
        let task = Task { try await cache.get("k") }
        while pool.waiting < waiters { try await nextTurn() }
        return task
    }

    @Test("a flight that began in trust is not joined when trust has ended and it is older than what may be kept")
    func trustEnds() async throws {
        let gate = FillGate(untrustedLifetime: .zero)
        gate.setTrustedUntil(.distantFuture)
        let pool = pool(gate)
        let first = try await board(pool, pool, waiters: 1)
        let joins = try await board(pool, pool, waiters: 2)
        #expect(pool.underWay == 1)
        await held.arrivals()
        gate.setTrustedUntil(.distantPast)
        lower.put(2, for: "k")
        let afresh = try await board(pool, pool, waiters: 3)
        #expect(pool.underWay == 2)
        held.open()
        #expect(try await first.value == 1)
        #expect(try await joins.value == 1)
        #expect(try await afresh.value == 2)
    }

    @Test("a flight that began untrusted is joined for as long as what it brings may be kept", arguments: [0, 1_000])
    func untrustedFromTheBeginning(seconds: Int) async throws {
        let pool = pool(FillGate(untrustedLifetime: .seconds(seconds)))
        let first = try await board(pool, pool, waiters: 1)
        let second = try await board(pool, pool, waiters: 2)
        #expect(pool.underWay == (seconds == 0 ? 2 : 1))
        held.open()
        #expect(try await first.value == 1)
        #expect(try await second.value == 1)
    }

    @Test(
        "who joined a flight that began untrusted keeps nothing: the time of keeping counts from the first one's asking"
    )
    func joinedIsNotKept() async throws {
        let pool = pool(FillGate(untrustedLifetime: .seconds(1_000)))
        let cache = MemoryLevel<String, Int>(limit: .entries(4)).compose(pool)
        let first = try await board(pool, pool, waiters: 1)
        let joins = try await board(cache, pool, waiters: 2)
        #expect(pool.underWay == 1)
        held.open()
        #expect(try await first.value == 1)
        #expect(try await joins.value == 1)
        #expect(cache.resident("k", at: .coarse) == nil)
        #expect(try await cache.get("k") == 1)
        #expect(cache.resident("k", at: .coarse)?.value == 1)
    }
}

/// A level under a gate that a test moves.
private struct Overheard: CacheLevel {
    let base: ProbeLevel
    let overheard: FillGate

    init(base: ProbeLevel, gate: FillGate) {
        self.base = base
        overheard = gate
    }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        let ticket = overheard.ticket(for: fingerprint(of: key))
        var entry = try await base.entry(for: key, request)
        entry?.ticket = ticket
        return entry
    }

    func store(_ entry: Entry<Int>, for key: String) async throws { try await base.store(entry, for: key) }

    func remove(_ key: String) async throws { try await base.remove(key) }

    func removeAll() async throws { try await base.removeAll() }

    var gate: FillGate? { overheard }
}
