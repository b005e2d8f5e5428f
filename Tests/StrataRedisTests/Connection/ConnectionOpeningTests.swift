import Testing

@testable import StrataRedis

@Suite("Opening a connection")
struct ConnectionOpeningTests {
    @Test("nothing happens before the first call")
    func lazy() {
        let rig = MachineRig()
        #expect(rig.advance() == [])
        #expect(rig.phase == .idle)
        #expect(rig.wait == nil)
        #expect(rig.advance(by: .seconds(86_400)) == [])
        #expect(!rig.hasOutput)
    }

    @Test("the first call opens; calls gather until the handshake is answered, then leave together and in order")
    func gathers() throws {
        let rig = MachineRig { ($0.password, $0.database) = (Secret("pw"), 3) }
        try rig.submit(1)
        #expect(rig.advance() == [.open])
        #expect(rig.advance() == [])
        #expect(rig.phase == .opening)
        try rig.submit(2)
        #expect(!rig.hasOutput)
        rig.opened()
        #expect(rig.phase == .handshaking)
        try rig.submit(3)
        #expect(rig.take() == ["AUTH pw", "SELECT 3"])
        try rig.submit(4)
        #expect(!rig.hasOutput)
        #expect(rig.receive(.status("OK")) == nil)
        #expect(rig.phase == .handshaking && !rig.hasOutput)
        #expect(rig.receive(.status("OK")) == nil)
        #expect(rig.phase == .ready)
        try rig.submit(5)
        #expect(rig.take() == ["GET key1", "GET key2", "GET key3", "GET key4", "GET key5"])
        #expect(rig.ended.isEmpty)
        #expect(rig.inFlight == 5)
        rig.receive(.integer(1), .integer(2), .integer(3), .integer(4), .integer(5))
        for promise in 1...5 { #expect(rig.ending(of: promise) == .reply(.integer(Int64(promise)))) }
    }

    @Test("the answers of the handshake may come with each other, but with no reply behind them")
    func repliesBehindHandshake() throws {
        let rig = MachineRig { ($0.password, $0.database) = (Secret("pw"), 3) }
        try rig.submit(1)
        rig.advance()
        rig.opened()
        _ = rig.take()
        #expect(rig.receive(.status("OK"), .status("OK"), .bytes([1])) == .close)
        #expect(rig.ending(of: 1) == .failure(.protocolViolation, .notApplied))
        #expect(rig.phase == .waiting)
    }

    @Test("no connection: queued calls fail with its error, later ones at once, until a connection is made")
    func openFails() throws {
        let rig = MachineRig()
        try rig.submit(1)
        try rig.submit(2)
        rig.advance()
        rig.openFailed()
        #expect(rig.ending(of: 1) == .failure(.connectionFailed, .notApplied))
        #expect(rig.ending(of: 2) == .failure(.connectionFailed, .notApplied))
        #expect(rig.inFlight == 0)

        for _ in 0..<3 {
            let refusal = #expect(throws: RedisError.self) { try rig.submit(3) }
            #expect(refusal?.code == .connectionFailed)
            #expect(refusal?.effect == .notApplied)
            #expect(rig.phase == .waiting)
            // The next attempt needs no call.
            #expect(rig.advanceToDeadline() == [.open])
            #expect(throws: RedisError.self) { try rig.submit(3) }
            rig.openFailed()
        }
        #expect(rig.advanceToDeadline() == [.open])
        rig.opened()
        #expect(throws: RedisError.self) { try rig.submit(3) }
        rig.answerHandshake()
        try rig.submit(4)
        #expect(rig.take() == ["GET key4"])
        rig.receive(.null)
        #expect(rig.ending(of: 4) == .reply(.null))
        #expect(rig.ended.count == 3)
    }

    @Test("a refused handshake closes the connection and fails what waits, once each")
    func refusedHandshake() throws {
        for (reply, code) in [
            (.error("WRONGPASS x"), .authentication), (.error("ERR max number of clients reached"), .server),
            (.error("LOADING x"), .server), (.array([]), .protocolViolation),
        ] as [(RESPValue, RedisError.Code)] {
            let rig = MachineRig { $0.password = Secret("pw") }
            try rig.submit(1)
            rig.advance()
            rig.opened()
            _ = rig.take()
            #expect(rig.receive(reply) == .close)
            #expect(rig.ending(of: 1) == .failure(code, .notApplied))
            #expect(rig.phase == .waiting)
            let refusal = #expect(throws: RedisError.self) { try rig.submit(2) }
            #expect(refusal?.code == code)
            #expect(rig.ended.count == 1)
        }
    }

    @Test("resolving, connecting and the handshake share one timeout", arguments: [0, 1, 2])
    func timeout(steps: Int) throws {
        let rig = MachineRig { ($0.password, $0.database) = (Secret("pw"), 3) }
        try rig.submit(1)
        rig.advance()
        rig.advance(by: .milliseconds(200))
        if steps > 0 { rig.opened() }
        if steps > 1 {
            _ = rig.take()
            rig.receive(.status("OK"))
        }
        #expect(rig.wait == .milliseconds(300))
        #expect(rig.advance(by: .milliseconds(300) - .nanoseconds(1)) == [])
        #expect(rig.advance(by: .nanoseconds(1)) == [.close])
        #expect(rig.ending(of: 1) == .failure(.connectionFailed, .notApplied))
        #expect(rig.phase == .waiting)
    }

    @Test("a connection lost in the handshake has run no command")
    func lostInHandshake() throws {
        let rig = MachineRig()
        try rig.submit(1)
        rig.advance()
        rig.opened()
        _ = rig.take()
        rig.lost()
        #expect(rig.ending(of: 1) == .failure(.connectionLost, .notApplied))
        #expect(throws: RedisError.self) { try rig.submit(2) }
        #expect(rig.advanceToDeadline() == [.open])
        rig.opened()
        #expect(rig.take() == ["PING"])
    }

    @Test("events of a socket that is gone change nothing")
    func lateEvents() throws {
        let rig = MachineRig()
        rig.opened()
        rig.openFailed()
        rig.lost()
        #expect(rig.receive(.null) == nil)
        #expect(rig.phase == .idle)
        try rig.submit(1)
        rig.advance()
        rig.lost()
        #expect(rig.receive(.null) == nil)
        #expect(rig.phase == .opening)
        rig.openFailed()
        let wait = rig.wait
        rig.openFailed(.authentication)
        rig.opened()
        rig.lost()
        #expect(rig.receive(.null) == nil)
        #expect(rig.phase == .waiting)
        #expect(rig.wait == wait)
        #expect(rig.ended.count == 1)
    }
}
