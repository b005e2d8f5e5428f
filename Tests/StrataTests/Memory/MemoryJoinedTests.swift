import StrataTesting
import Testing

@testable import Strata

@Suite("Entries that several callers have read together, in memory")
struct MemoryJoinedTests {
    private let log = RemovalLog<String, Int>()
    private let level: MemoryLevel<String, Int>
    private let gate = FillGate()
    private var entry: Entry<Int>

    init() {
        level = MemoryLevel(limit: .entries(10), onRemoval: log.add)
        entry = Entry(.value(1), version: .random(), ticket: gate.ticket(for: 7))
    }

    @Test("the first caller keeps it, the others find it there, and nothing is replaced")
    func once() async throws {
        for _ in 0..<8 { _ = try await level.commit(entry.joined, for: "k") }
        #expect(try await level.get("k") == 1)
        #expect(log.all.isEmpty)
        // A read that has not joined writes.
        _ = try await level.commit(entry, for: "k")
        #expect(log.causes == [.replaced])
    }

    @Test("a fill that was voided on its way replaces nothing that was set meanwhile", arguments: [false, true])
    func voided(isDetailed: Bool) async throws {
        var fill = isDetailed ? entry : Entry(.value(1), ticket: gate.ticket(for: 7))
        fill.filling = gate
        _ = try await level.commit(fill, for: "k")
        #expect(try await level.get("k") == 1)
        gate.void(7)
        try await level.set(2, for: "k")
        _ = try await level.commit(fill, for: "k")
        #expect(try await level.get("k") == 2)
        fill.ticket = gate.ticket(for: 7)
        _ = try await level.commit(fill, for: "k")
        #expect(try await level.get("k") == 1)
    }

    @Test("nor does one that is too large, once it is void")
    func voidedAndTooLarge() async throws {
        let level = MemoryLevel<String, Int>(limit: .cost(10) { $0 })
        var fill = Entry(.value(100), ticket: gate.ticket(for: 7))
        fill.filling = gate
        try await level.set(1, for: "k")
        await #expect(throws: CacheError.self) { try await level.commit(fill, for: "k") }
        #expect(try await level.get("k") == nil)
        gate.void(7)
        try await level.set(2, for: "k")
        await #expect(throws: CacheError.self) { try await level.commit(fill, for: "k") }
        #expect(try await level.get("k") == 2)
    }

    @Test("another write, another ticket, or an entry that is not known to be the same is kept")
    func others() async throws {
        _ = try await level.commit(entry, for: "k")
        var other = entry.joined
        other.content = .value(2)
        other.version = .random()
        _ = try await level.commit(other, for: "k")
        #expect(try await level.get("k") == 2)

        gate.void(7)
        other.ticket = gate.ticket(for: 7)
        _ = try await level.commit(other, for: "k")
        #expect(try await level.entry(for: "k", ReadRequest())?.ticket == other.ticket)

        other.version = .none
        for value in 3...4 {
            other.content = .value(value)
            _ = try await level.commit(other, for: "k")
            #expect(try await level.get("k") == value)
        }
        #expect(log.all.count == 4)
    }

    @Test("what an in-process fetch has found is known by its end")
    func unversioned() async throws {
        var entry = entry.joined
        entry.version = .none
        entry.freshUntil = .now.advanced(by: .seconds(100))
        entry.staleUntil = entry.freshUntil
        for _ in 0..<8 { _ = try await level.commit(entry, for: "k") }
        #expect(log.all.isEmpty)
        // That of another fetch is another one.
        entry.freshUntil = entry.freshUntil.advanced(by: .seconds(1))
        entry.staleUntil = entry.freshUntil
        _ = try await level.commit(entry, for: "k")
        #expect(log.causes == [.replaced])
    }

    @Test("of callers that wait for one fetch of a source, all but one are known to have joined it")
    func source() async throws {
        let open = AsyncGate()
        let source = Source<String, Int> { _ in
            try await open.pass()
            return 7
        }
        let reads = (0..<20).map { _ in Task { try await source.entry(for: "k", ReadRequest())?.isJoined } }
        while source.waiting < 20 { try await nextTurn() }
        open.open()
        var joined: [Bool?] = []
        for read in reads { joined.append(try await read.value) }
        #expect(joined.count { $0 == true } == 19 && joined.count { $0 == false } == 1)
    }

    @Test("an entry that memory would not serve any more is kept anew")
    func expired() async throws {
        let time = HandMovedTime()
        let level = MemoryLevel<String, Int>(
            limit: .entries(10),
            lifetime: .seconds(10),
            time: time.clock,
            isTended: false,
            onRemoval: log.add
        )
        var entry = entry
        entry.staleUntil = time.now.advanced(by: .seconds(60))
        _ = try await level.commit(entry, for: "k")
        _ = try await level.commit(entry.joined, for: "k")
        #expect(log.all.isEmpty)
        time.advance(by: .seconds(11))
        #expect(level.resident("k", at: time.now) == nil)
        _ = try await level.commit(entry.joined, for: "k")
        #expect(level.resident("k", at: time.now)?.value == 1)
    }
}
