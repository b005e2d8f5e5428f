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
        // Whoever has not joined writes.
        _ = try await level.commit(entry, for: "k")
        #expect(log.causes == [.replaced])
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
}
