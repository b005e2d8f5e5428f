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

    @Test("a large value that keeps going out is a sign of life, and a trickle is none")
    func sending() throws {
        let rig = try MachineRig.ready { $0.healthWindow = .seconds(2) }
        try rig.submit(1, words: ["SET", "k", String(repeating: "x", count: 1 << 20)])
        _ = rig.takeBytes()
        var unsent = 1 << 20
        for _ in 0..<5 {
            #expect(rig.advance(by: .milliseconds(1_900), unsent: unsent) == [])
            unsent -= 64 << 10
        }
        // The server takes 16 KiB less a byte, and then nothing.
        #expect(rig.advance(by: .milliseconds(100), unsent: unsent) == [])
        unsent -= (16 << 10) - 1
        #expect(rig.advance(by: .milliseconds(1_800), unsent: unsent) == [])
        #expect(rig.advance(by: .milliseconds(200), unsent: unsent) == [.close])
        #expect(rig.ending(of: 1) == .failure(.connectionLost, .ambiguous))
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

    @Test("calls that were given up are still owed a reply: they do not hide a dead connection")
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

    @Test("an idle connection is pinged; no call gets the answer, and the next ping comes as late as the first")
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

    @Test("bytes alone are no sign of life: a server that sends one a second is given up")
    func trickle() throws {
        let rig = try MachineRig.ready { $0.healthWindow = .seconds(2) }
        try rig.submit(1)
        _ = rig.take()
        var actions: [MachineRig.Machine.Action] = []
        for _ in 0..<2 {
            rig.receive([], bytes: 1)
            actions += rig.advance(by: .seconds(1))
        }
        #expect(actions == [.close])
    }

    @Test("replies that come too late for every caller do not count, however many there are")
    func tooLate() throws {
        let rig = try MachineRig.ready { $0.healthWindow = .seconds(2) }
        for promise in 0..<80 { try rig.submit(promise, deadline: .seconds(1)) }
        _ = rig.take()
        var closed = 0
        for second in 0..<80 where closed == 0 {
            if rig.advance(by: .milliseconds(1_500)) == [.close] { closed = second }
            rig.receive(.integer(0), .integer(0))
        }
        #expect(closed == 2 || closed == 3)
    }

    @Test("a large reply that keeps coming is one")
    func progress() throws {
        let rig = try MachineRig.ready { $0.healthWindow = .seconds(2) }
        try rig.submit(1)
        _ = rig.take()
        for _ in 0..<20 {
            #expect(rig.advance(by: .milliseconds(1_900)) == [])
            rig.receive([], bytes: 16 << 10)
        }
        #expect(rig.advance(by: .seconds(2)) == [.close])
    }

    @Test("callers who leave at once do not make a connection look dead that answers them")
    func leavers() throws {
        let rig = try MachineRig.ready { $0.healthWindow = .seconds(2) }
        for promise in 0..<100 {
            _ = rig.abandon(try rig.submit(promise))
            _ = rig.take()
            #expect(rig.advance(by: .milliseconds(1_500)) == [])
            rig.receive(.null)
        }
    }

    // MARK: Who is to blame for a timeout

    /// The error of a call that times out after 500 ms.
    private func timeout(_ body: (MachineRig) throws -> Void) throws -> RedisError {
        let rig = try MachineRig.ready {
            ($0.healthWindow, $0.reconnectDelay) = (.seconds(60), .seconds(9) ... .seconds(9))
        }
        try body(rig)
        return try #require(rig.errors[1])
    }

    @Test("a server that has a command and does not answer is to blame")
    func serversFault() throws {
        let error = try timeout { rig in
            try rig.submit(1, deadline: .milliseconds(500))
            _ = rig.take()
            rig.advancePunctually(by: .milliseconds(500))
        }
        #expect(error.code == .timeout && !error.isOwnDelay && error.blamesServer)
    }

    @Test("a command that was not sent, or only just, or a thread that was late, are this process's fault")
    func ownFault() throws {
        let errors = try [
            timeout { rig in
                try rig.submit(1, deadline: .milliseconds(500))
                rig.advancePunctually(by: .milliseconds(500))
            },
            timeout { rig in
                try rig.submit(1, deadline: .milliseconds(500))
                rig.advancePunctually(by: .milliseconds(400))
                _ = rig.take()
                rig.advancePunctually(by: .milliseconds(100))
            },
            timeout { rig in
                try rig.submit(1, deadline: .milliseconds(500))
                rig.advance()
                _ = rig.take()
                rig.advance(by: .milliseconds(500))
            },
        ]
        for error in errors { #expect(error.code == .timeout && error.isOwnDelay && !error.blamesServer) }
    }

    @Test("a reply that the server took long for is told from one that waited for this thread")
    func slowReplies() throws {
        let slow = try MachineRig.ready { $0.breaker.slowAfter = .milliseconds(250) }
        try slow.submit(1)
        _ = slow.take()
        slow.advancePunctually(by: .milliseconds(300))
        slow.receive(.null)
        #expect(slow.machine.health.slowReplyAt == slow.now)

        let late = try MachineRig.ready { $0.breaker.slowAfter = .milliseconds(250) }
        try late.submit(1)
        late.advance()
        _ = late.take()
        let start = late.now
        late.pass(.milliseconds(300))
        late.receive(.null)
        #expect(late.machine.health.slowReplyAt < start)
    }
}
