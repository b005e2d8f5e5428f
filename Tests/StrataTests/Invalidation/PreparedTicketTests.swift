import Testing

@testable import Strata

@Suite("A ticket that is prepared until its value is in its place")
struct PreparedTicketTests {
    @Test("it lives beside the others until it is committed")
    func committed() throws {
        let gate = FillGate()
        let (above, write) = (gate.ticket(for: 1), gate.ticket(for: 1))
        let prepared = try #require(gate.prepare(write, for: 1))
        #expect(gate.isLive(prepared) && gate.isLive(above) && gate.isLive(write))
        gate.commit(above, for: 1)
        #expect(gate.isLive(above))
        gate.commit(prepared, for: 1)
        #expect(gate.isLive(prepared) && !gate.isLive(above) && !gate.isLive(write))
        #expect(gate.isLive(gate.ticket(for: 1)))
        gate.commit(prepared, for: 1)
        #expect(gate.isLive(prepared))
    }

    @Test("a change meanwhile voids it with all others, and nothing is committed")
    func voided() throws {
        for voidsAll in [true, false] {
            let gate = FillGate()
            let above = gate.ticket(for: 1)
            let prepared = try #require(gate.prepare(above, for: 1))
            if voidsAll { gate.voidAll() } else { gate.void(1) }
            #expect(!gate.isLive(prepared) && !gate.isLive(above))
            let later = gate.ticket(for: 1)
            gate.commit(prepared, for: 1)
            #expect(gate.isLive(later) && !gate.isLive(prepared))
        }
    }

    @Test("a second write of the key voids it")
    func second() throws {
        let gate = FillGate(size: 1024)
        let (first, second) = (gate.ticket(for: 1), gate.ticket(for: 1))
        let prepared = try #require(gate.prepare(first, for: 1))
        let renewed = try #require(gate.prepare(second, for: 1))
        #expect(gate.isLive(renewed) && !gate.isLive(prepared) && !gate.isLive(first))
        gate.commit(prepared, for: 1)
        #expect(gate.isLive(renewed))
    }

    @Test("one that is void gets no promise, and voids the others of its key")
    func late() {
        let gate = FillGate()
        let write = gate.ticket(for: 1)
        gate.void(1)
        let above = gate.ticket(for: 1)
        #expect(gate.prepare(write, for: 1) == nil)
        #expect(!gate.isLive(above))
        #expect(gate.prepare(.none, for: 1) == nil && gate.prepare(.void, for: 1) == nil)
    }

    @Test("seals of tags are not broken by a preparation")
    func seals() throws {
        let gate = FillGate()
        let seal = try #require(gate.seal(["tag"]))
        let fingerprint = TagName("tag").fingerprint()
        let prepared = try #require(gate.prepare(gate.ticket(for: fingerprint), for: fingerprint))
        #expect(seal.isLive)
        gate.commit(prepared, for: fingerprint)
        #expect(!seal.isLive)
    }

    /// The rules, told by lists of tickets and without counters.
    private struct Model {
        var living: Set<Ticket> = []
        var prepared: Ticket?

        mutating func void() {
            living = []
            prepared = nil
        }

        /// Whether a new ticket is due, which then lives alone or beside the others.
        mutating func renew(_ ticket: Ticket, beside: Bool) -> Bool {
            let isDue = living.contains(ticket) && ticket != prepared
            if !(isDue && beside && prepared == nil) { void() }
            return isDue
        }

        mutating func commit(_ ticket: Ticket) {
            guard ticket == prepared else { return }
            living = [ticket]
            prepared = nil
        }
    }

    @Test("whatever happens in whichever order, those live that should", arguments: 0..<4)
    func model(number: Int) {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of PreparedTicketTests.model: \(seed)")
        var random = TestRandom(seed: seed)
        let gate = FillGate(size: 1024)
        var models = [Model](repeating: Model(), count: 3)
        var tickets = [[Ticket]](repeating: [], count: 3)
        for step in 0..<5000 {
            let key = Int.random(in: 0..<3, using: &random)
            let some = tickets[key].suffix(6).randomElement(using: &random)
            switch (Int.random(in: 0..<12, using: &random), some) {
            case (0, _):
                gate.void(UInt64(key))
                models[key].void()
            case (1, _) where Int.random(in: 0..<10, using: &random) == 0:
                gate.voidAll()
                for key in models.indices { models[key].void() }
            case (2...3, let ticket?):
                let new = gate.renew(ticket, for: UInt64(key))
                #expect((new != nil) == models[key].renew(ticket, beside: false), "step \(step)")
                if let new {
                    models[key].living.insert(new)
                    tickets[key].append(new)
                }
            case (4...6, let ticket?):
                let stands = models[key].prepared
                let new = gate.prepare(ticket, for: UInt64(key))
                #expect((new != nil) == models[key].renew(ticket, beside: true), "step \(step)")
                if let new {
                    models[key].living.insert(new)
                    if stands == nil { models[key].prepared = new }
                    tickets[key].append(new)
                }
            case (7...9, let ticket?):
                gate.commit(ticket, for: UInt64(key))
                models[key].commit(ticket)
            default:
                let ticket = gate.ticket(for: UInt64(key))
                models[key].living.insert(ticket)
                tickets[key].append(ticket)
            }
            for key in models.indices {
                for ticket in tickets[key].suffix(12) {
                    #expect(gate.isLive(ticket) == models[key].living.contains(ticket), "step \(step)")
                }
            }
        }
    }
}
