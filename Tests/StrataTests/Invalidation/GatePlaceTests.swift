import Synchronization
import Testing

@testable import Strata

@Suite("A change voids what has a ticket of its key, and next to nothing else")
struct GatePlaceTests {
    @Test("of what is held next to nothing is voided by changes of other keys, however many")
    func foreignChanges() {
        let gate = FillGate()
        let tickets = (0..<17_000 as Range<UInt64>).map { gate.ticket(for: $0) }
        for other in 1_000_000..<1_131_072 as Range<UInt64> { gate.void(other) }
        let alive = tickets.count { gate.isLive($0) }
        #expect(alive >= 16_600, "\(alive) of 17 000")
    }

    @Test("nothing that was changed lives, also where keys share a counter", arguments: [1, 40, 400])
    func changes(keysInHundreds: Int) {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of GatePlaceTests.changes: \(seed)")
        var random = TestRandom(seed: seed)
        let gate = FillGate(size: 1024)
        var tickets: [[Ticket]] = Array(repeating: [], count: keysInHundreds * 100)
        for _ in 0..<200_000 {
            let key = Int.random(in: tickets.indices, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 {
                gate.void(UInt64(key))
                for ticket in tickets[key] where gate.isLive(ticket) { Issue.record("key \(key), \(ticket)") }
                tickets[key] = []
            } else {
                let ticket = gate.ticket(for: UInt64(key))
                #expect(gate.isLive(ticket))
                tickets[key].append(ticket)
            }
        }
        gate.voidAll()
        #expect(!tickets.joined().contains { gate.isLive($0) })
    }

    @Test("reads of keys that are never asked for again do not displace what is used, and do not make the table grow")
    func passingReads() {
        let gate = FillGate(size: 4096)
        gate.reserve(for: 500)
        let held = (0..<500 as Range<UInt64>).map { gate.ticket(for: $0) }
        for passing in 10_000..<210_000 as Range<UInt64> {
            _ = gate.ticket(for: passing)
            // Each is hit now and then.
            _ = gate.isLive(held[Int(passing % 500)])
        }
        #expect(held.allSatisfy { gate.isLive($0) })
        #expect(gate.limit.load(ordering: .relaxed) <= 8192)
    }

    @Test("the table grows with what is held")
    func growth() {
        let gate = FillGate(size: 1024)
        let tickets = (0..<100_000 as Range<UInt64>).map { gate.ticket(for: $0) }
        #expect(tickets.allSatisfy { gate.isLive($0) }, "never used, and none voided")
        for other in 1_000_000..<1_131_072 as Range<UInt64> { gate.void(other) }
        let alive = tickets.count { gate.isLive($0) }
        #expect(alive > 97_000, "\(alive) of 100 000")
        #expect(gate.limit.load(ordering: .relaxed) > 65_536)
    }

    @Test("threads that take tickets, void and renew at the same time: nothing that was voided lives")
    func threads() async {
        let gate = FillGate(size: 1024)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 as Range<UInt64> {
                group.addTask {
                    for round in 0..<20_000 as Range<UInt64> {
                        // Keys of this task alone; rows and shared words are everybody's.
                        let key = task + 4 * (round % 2_000)
                        let ticket = gate.ticket(for: key)
                        if round.isMultiple(of: 3) {
                            let renewed = gate.renew(ticket, for: key)
                            if gate.isLive(ticket) { Issue.record("renewed, and the old one lives") }
                            gate.void(key)
                            if let renewed, gate.isLive(renewed) { Issue.record("voided, and it lives") }
                        } else {
                            gate.void(key)
                            if gate.isLive(ticket) { Issue.record("voided, and it lives") }
                        }
                    }
                }
            }
        }
    }
}
