import Testing

@testable import StrataRedis

@Suite("Health of a connection")
struct ConnectionHealthTests {
    @Test("nothing arrives for the health window although replies are owed: the connection is dead")
    func healthWindow() throws {
        let rig = try MachineRig.ready { $0.healthWindow = .seconds(2) }
        try rig.submit(1)
        _ = rig.take()
        #expect(rig.wait == .seconds(2))
        #expect(rig.advance(by: .seconds(2) - .nanoseconds(1)) == [])
        #expect(rig.advance(by: .nanoseconds(1)) == [.close])
        #expect(rig.ending(of: 1) == .failure(.connectionLost, .ambiguous))
        #expect(rig.phase == .waiting)
    }

    @Test("any reply is a sign of life, also for those still waiting")
    func signOfLife() throws {
        let rig = try MachineRig.ready { $0.healthWindow = .seconds(2) }
        try rig.submit(1)
        try rig.submit(2)
        _ = rig.take()
        rig.advance(by: .milliseconds(1_900))
        rig.receive(.null)
        #expect(rig.wait == .seconds(2))
        #expect(rig.advance(by: .milliseconds(1_999)) == [])
        #expect(rig.advance(by: .milliseconds(1)) == [.close])
        #expect(rig.ending(of: 2) == .failure(.connectionLost, .ambiguous))
    }

    @Test("the window begins with the first reply owed, not with the last that came")
    func windowAfterSilence() throws {
        let rig = try MachineRig.ready { ($0.healthWindow, $0.keepalive) = (.seconds(2), .seconds(60)) }
        rig.advance(by: .seconds(30))
        try rig.submit(1)
        _ = rig.take()
        #expect(rig.wait == .seconds(2))
        rig.advance(by: .milliseconds(1_999))
        try rig.submit(2)
        #expect(rig.phase == .ready)
        #expect(rig.advance(by: .milliseconds(1)) == [.close])
        #expect(rig.ended.map(\.promise) == [1, 2])
    }

    @Test("calls that nobody waits for any more still owe a reply: they do not hide a dead connection")
    func abandonedCount() throws {
        let rig = try MachineRig.ready { $0.healthWindow = .seconds(2) }
        let number = try rig.submit(1, deadline: .seconds(60))
        _ = rig.take()
        #expect(rig.abandon(number) == 1)
        #expect(rig.advance(by: .seconds(2)) == [.close])
        #expect(rig.ended.isEmpty)
    }

    @Test("the time that a connection takes to be made counts for nothing")
    func windowWhileOpening() throws {
        let rig = MachineRig { ($0.healthWindow, $0.connectTimeout) = (.seconds(2), .seconds(60)) }
        try rig.submit(1)
        rig.advance()
        #expect(rig.advance(by: .seconds(30)) == [])
        rig.opened()
        #expect(rig.advance(by: .seconds(20)) == [])
        rig.answerHandshake()
        #expect(rig.wait == .seconds(2))
        #expect(rig.advance() == [])
    }

    @Test("an idle connection is pinged; the answer is nobody's, and the next ping comes as late as the first")
    func keepalive() throws {
        let rig = try MachineRig.ready { $0.keepalive = .seconds(15) }
        for round in 0..<3 {
            #expect(rig.wait == .seconds(15), "round \(round)")
            #expect(rig.advance(by: .seconds(15) - .nanoseconds(1)) == [] && !rig.hasOutput)
            #expect(rig.advance(by: .nanoseconds(1)) == [])
            #expect(rig.take() == ["PING"])
            #expect(rig.advance() == [] && !rig.hasOutput)
            #expect(rig.inFlight == 1)
            rig.receive(.status("PONG"))
            #expect(rig.inFlight == 0)
        }
        #expect(rig.ended.isEmpty)
    }

    @Test("an unanswered ping closes the connection after the health window")
    func unansweredPing() throws {
        let rig = try MachineRig.ready { ($0.keepalive, $0.healthWindow) = (.seconds(15), .seconds(2)) }
        rig.advance(by: .seconds(15))
        #expect(rig.take() == ["PING"])
        #expect(rig.wait == .seconds(2))
        #expect(rig.advance(by: .seconds(2)) == [.close])
        #expect(rig.ended.isEmpty)
    }

    @Test("a call that shares its replies with a ping gets its own, even when the ping is refused")
    func pingAmongCalls() throws {
        let rig = try MachineRig.ready()
        rig.advanceToDeadline()
        try rig.submit(1)
        #expect(rig.take() == ["PING", "GET key1"])
        rig.receive(.error("NOPERM"), .integer(1))
        #expect(rig.ended.count == 1)
        #expect(rig.ending(of: 1) == .reply(.integer(1)))
    }

    @Test("traffic puts the ping off")
    func trafficInsteadOfPing() throws {
        let rig = try MachineRig.ready { $0.keepalive = .seconds(15) }
        for promise in 0..<10 {
            rig.advance(by: .seconds(14))
            try rig.submit(promise)
            #expect(rig.take() == ["GET key\(promise)"])
            rig.receive(.null)
        }
    }
}
