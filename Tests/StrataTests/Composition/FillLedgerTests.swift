import Testing

@testable import Strata

@Suite("What a composition remembers of its fills")
struct FillLedgerTests {
    private let ledger = FillLedger<Int>(capacity: 100)
    private let gate = FillGate()

    private func record(_ key: Int, _ ticket: Ticket? = nil) -> Int? {
        ledger.record(ticket ?? gate.ticket(for: UInt64(key)), nil, for: key)?.key
    }

    @Test("beyond its capacity each new key takes the place of the oldest")
    func oldest() {
        for key in 0..<1_000 { #expect(record(key) == (key < 100 ? nil : key - 100)) }
        for key in 0..<1_000 { #expect((ledger.fill(of: key) != nil) == (key >= 900)) }
    }

    @Test("a key that is filled again is as new as the others")
    func again() {
        for key in 0..<100 { #expect(record(key) == nil) }
        for _ in 0..<1_000 { #expect(record(0) == nil) }
        for key in 100..<199 { #expect(record(key) == key - 99) }
        #expect(ledger.fill(of: 0) != nil)
        #expect(record(199) == 0)
    }

    @Test("what says nothing yet stays, as long as there is something else")
    func void() {
        for key in 0..<10 { #expect(record(key, .void) == nil) }
        for key in 10..<100 { #expect(record(key) == nil) }
        for key in 100..<190 { #expect(record(key) == key - 90) }
        for key in 0..<10 { #expect(ledger.fill(of: key)?.ticket == .void) }
        let ledger = FillLedger<Int>(capacity: 100)
        for key in 0..<1_000 { #expect((ledger.record(.void, nil, for: key) != nil) == (key >= 100)) }
    }

    @Test("what is forgotten takes no place, and its key may come again")
    func forgotten() {
        for key in 0..<10_000 {
            #expect(record(key) == nil)
            ledger.forget(key)
        }
        for key in 0..<100 { #expect(record(key) == nil) }
        #expect(record(100) == 0)
    }

    @Test("what is noted again and again, or removed, has nothing grow")
    func bounded() {
        var fills = RecentFills<Int>()
        let fill = FillLedger<Int>.Fill(ticket: gate.ticket(for: 7), seal: nil)
        for round in 0..<10_000 {
            fills.note(fill, for: round % 10)
            fills.note(fill, for: round)
            if round % 3 == 0 { fills.remove(round) } else if fills.count > 100 { _ = fills.removeOldest(but: round) }
        }
        #expect(fills.count <= 101 && fills.places <= 2 * 101 + 64)
    }

    @Test("with room for none, what was noted last is what there is")
    func none() {
        let ledger = FillLedger<Int>(capacity: 0)
        for key in 0..<10 { _ = ledger.record(.void, nil, for: key) }
        #expect((0..<9).allSatisfy { ledger.fill(of: $0) == nil })
    }
}
