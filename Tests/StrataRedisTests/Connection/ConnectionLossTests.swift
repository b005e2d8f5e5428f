import Testing

@testable import StrataRedis

@Suite("Losing a connection")
struct ConnectionLossTests {
    private static let commands = [["GET", "a"], ["SET", "key", "value"], ["DEL", "a", "b", "c"], ["PING"]]

    private static let lengths = commands.map { command in
        command.reduce("*\(command.count)\r\n".utf8.count) { $0 + "$\($1.utf8.count)\r\n\($1)\r\n".utf8.count }
    }

    /// For every number of bytes that the system did not take: a command of which a byte was sent may have been run.
    @Test("the effect of every command follows from the bytes that were sent")
    func effects() throws {
        let total = Self.lengths.reduce(0, +)
        for unsent in 0...total {
            let rig = try MachineRig.ready()
            for (promise, command) in Self.commands.enumerated() {
                try rig.submit(promise, words: command)
            }
            #expect(rig.takeBytes().count == total)
            try rig.submit(100)
            rig.lost(unsent: unsent)
            var start = 0
            for (promise, length) in Self.lengths.enumerated() {
                let effect: RedisError.Effect = start < total - unsent ? .ambiguous : .notApplied
                #expect(rig.ending(of: promise) == .failure(.connectionLost, effect), "\(unsent) unsent")
                start += length
            }
            #expect(rig.ending(of: 100) == .failure(.connectionLost, .notApplied))
            #expect(rig.ended.count == Self.lengths.count + 1)
        }
    }

    @Test("bytes of earlier commands, answered or not, do not shift the count")
    func effectsAfterTraffic() throws {
        let rig = try MachineRig.ready()
        for round in 0..<5 {
            try rig.submit(round)
            _ = rig.take()
            rig.receive(.null)
        }
        try rig.submit(10, "AAAA")
        _ = rig.take()
        try rig.submit(11, "BBBB")
        let second = rig.takeBytes().count
        try rig.submit(12, "CCCC")
        rig.lost(unsent: second)
        #expect(rig.ending(of: 10) == .failure(.connectionLost, .ambiguous))
        #expect(rig.ending(of: 11) == .failure(.connectionLost, .notApplied))
        #expect(rig.ending(of: 12) == .failure(.connectionLost, .notApplied))
    }

    @Test("more unsent bytes than were taken are all of them")
    func tooManyUnsent() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        _ = rig.take()
        rig.lost(unsent: .max)
        #expect(rig.ending(of: 1) == .failure(.connectionLost, .notApplied))
    }

    @Test("calls that were let go are not completed again, pings never")
    func silentSlots() throws {
        let rig = try MachineRig.ready { $0.healthWindow = .seconds(60) }
        let number = try rig.submit(1)
        try rig.submit(2, deadline: .milliseconds(10))
        try rig.submit(3)
        _ = rig.take()
        #expect(rig.abandon(number) == 1)
        rig.advance(by: .milliseconds(10))
        rig.lost()
        #expect(rig.ended.map(\.promise) == [2, 3])

        let idle = try MachineRig.ready()
        idle.advanceToDeadline()
        #expect(idle.take() == ["PING"])
        idle.lost()
        #expect(idle.ended.isEmpty && idle.inFlight == 0)
    }

    @Test("after a loss calls are taken at once, go out on the next connection, and nothing is sent twice")
    func reconnect() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        _ = rig.take()
        try rig.submit(2)
        rig.lost()
        #expect(rig.phase == .waiting)
        try rig.submit(3)
        #expect(!rig.hasOutput)
        #expect(rig.advanceToDeadline() == [.open])
        try rig.submit(4)
        rig.opened()
        #expect(rig.take() == ["PING"])
        rig.receive(.status("PONG"))
        #expect(rig.take() == ["GET key3", "GET key4"])
        rig.receive(.integer(3), .integer(4))
        #expect(rig.ended.map(\.promise) == [1, 2, 3, 4])
        #expect(rig.ending(of: 4) == .reply(.integer(4)))
    }

    @Test("calls that waited for a new connection fail with its error when none is made")
    func reconnectFails() throws {
        let rig = try MachineRig.ready()
        rig.lost()
        try rig.submit(1)
        rig.advanceToDeadline()
        rig.openFailed()
        #expect(rig.ending(of: 1) == .failure(.connectionFailed, .notApplied))
        let refusal = #expect(throws: RedisError.self) { try rig.submit(2) }
        #expect(refusal?.code == .connectionFailed)
    }

    @Test("effects on a second connection start from nothing")
    func effectsAfterReconnect() throws {
        let rig = try MachineRig.ready()
        for promise in 0..<20 { try rig.submit(promise) }
        _ = rig.take()
        rig.lost()
        try rig.submit(100)
        rig.advanceToDeadline()
        rig.opened()
        rig.answerHandshake()
        let length = rig.takeBytes().count
        try rig.submit(101)
        rig.lost(unsent: length)
        #expect(rig.ending(of: 100) == .failure(.connectionLost, .notApplied))
        #expect(rig.ending(of: 101) == .failure(.connectionLost, .notApplied))
    }
}
