import Testing

@testable import StrataRedis

@Suite("Draining a connection")
struct ConnectionDrainTests {
    private func refusal(_ rig: MachineRig) -> RedisError.Code? {
        do throws(RedisError) {
            try rig.submit(999)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("without calls it closes at once, in every phase")
    func empty() throws {
        let idle = MachineRig()
        let ready = try MachineRig.ready()
        let waiting = try MachineRig.ready()
        waiting.lost()
        let opening = try MachineRig.ready()
        opening.lost()
        opening.advanceToDeadline()
        let handshaking = try MachineRig.ready()
        handshaking.lost()
        handshaking.advanceToDeadline()
        handshaking.opened()
        for rig in [idle, ready, waiting, opening, handshaking] {
            rig.drain(within: .seconds(5))
            #expect(refusal(rig) == .shutDown)
            #expect(rig.advance() == [.close])
            #expect(rig.phase == .closed)
            #expect(rig.advance() == [] && rig.wait == nil && !rig.hasOutput)
            #expect(refusal(rig) == .shutDown)
            #expect(rig.ended.isEmpty)
        }
    }

    @Test("'shut down' is the answer from the first moment, not the last failure")
    func refusedAtOnce() throws {
        let rig = MachineRig()
        try rig.submit(1)
        rig.advance()
        rig.openFailed()
        #expect(refusal(rig) == .connectionFailed)
        rig.drain(within: .seconds(5))
        #expect(refusal(rig) == .shutDown)
        #expect(rig.advance() == [.close])
    }

    @Test("calls under way are finished, then it closes")
    func finishes() throws {
        let rig = try MachineRig.ready()
        for promise in 1...3 { try rig.submit(promise) }
        _ = rig.take()
        rig.drain(within: .seconds(5))
        #expect(rig.advance() == [])
        #expect(refusal(rig) == .shutDown)
        rig.receive(.integer(1), .integer(2))
        #expect(rig.advance() == [])
        rig.receive(.integer(3))
        #expect(rig.advance() == [.close])
        #expect(rig.ended.map(\.promise) == [1, 2, 3])
        #expect(rig.ending(of: 3) == .reply(.integer(3)))
    }

    @Test("calls that were not sent yet are sent and finished")
    func finishesQueued() throws {
        let rig = MachineRig()
        try rig.submit(1)
        rig.drain(within: .milliseconds(400))
        #expect(rig.advance() == [.open])
        rig.opened()
        rig.answerHandshake()
        #expect(rig.take() == ["GET key1"])
        #expect(rig.advance() == [])
        rig.receive(.integer(1))
        #expect(rig.advance() == [.close])
        #expect(rig.ending(of: 1) == .reply(.integer(1)))
    }

    @Test("at the deadline the rest fails, each with its effect")
    func deadline() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        let number = try rig.submit(2)
        _ = rig.take()
        try rig.submit(3)
        #expect(rig.abandon(number) == 2)
        rig.drain(within: .milliseconds(300))
        #expect(rig.wait == .milliseconds(300))
        #expect(rig.advance(by: .milliseconds(300) - .nanoseconds(1)) == [])
        #expect(rig.advance(by: .nanoseconds(1)) == [.close])
        #expect(rig.ending(of: 1) == .failure(.shutDown, .ambiguous))
        #expect(rig.ending(of: 3) == .failure(.shutDown, .notApplied))
        #expect(rig.ended.count == 2)
        #expect(rig.phase == .closed && rig.wait == nil)
    }

    @Test("a deadline in the past fails everything at once")
    func noGrace() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        rig.drain(within: .seconds(-1))
        #expect(rig.advance() == [.close])
        #expect(rig.ending(of: 1) == .failure(.shutDown, .notApplied))
    }

    @Test("a second drain may come sooner; after the end it changes nothing")
    func twice() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        rig.drain(within: .seconds(5))
        rig.drain(within: .zero)
        #expect(rig.advance() == [.close])
        rig.drain(within: .seconds(5))
        #expect(rig.wait == nil)
        #expect(rig.advance() == [] && rig.phase == .closed)
        rig.opened()
        rig.lost()
        #expect(rig.receive(.null) == nil)
        #expect(rig.phase == .closed)
        #expect(rig.ended.count == 1)
    }

    @Test("a connection that is lost while draining is not made again: nothing is left to do")
    func lostWhileDraining() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        _ = rig.take()
        rig.drain(within: .seconds(5))
        rig.lost()
        #expect(rig.ending(of: 1) == .failure(.connectionLost, .ambiguous))
        #expect(rig.advance() == [.close])
        #expect(rig.phase == .closed)
    }

    @Test("the end of a drain that meets the handshake fails what waits")
    func deadlineInHandshake() throws {
        let rig = MachineRig()
        try rig.submit(1)
        rig.advance()
        rig.opened()
        rig.drain(within: .milliseconds(100))
        #expect(rig.wait == .milliseconds(100))
        #expect(rig.advanceToDeadline() == [.close])
        #expect(rig.ending(of: 1) == .failure(.shutDown, .notApplied))
    }
}
