import Testing

@testable import StrataRedis

@Suite("Calls on a connection")
struct ConnectionCallTests {
    @Test("replies go to calls in their order, however they arrive")
    func order() throws {
        let rig = try MachineRig.ready()
        for promise in 0..<6 { try rig.submit(promise) }
        #expect(rig.take() == (0..<6).map { "GET key\($0)" })
        rig.receive(.integer(0))
        rig.receive(.integer(1), .error("ERR"), .null)
        try rig.submit(6)
        rig.receive(.integer(4), .bytes([5]))
        _ = rig.take()
        rig.receive()
        rig.receive(.array([.integer(6)]))
        #expect(rig.ended.map(\.promise) == Array(0...6))
        #expect(
            rig.ended.map(\.ending) == [
                .reply(.integer(0)), .reply(.integer(1)), .reply(.error("ERR")), .reply(.null), .reply(.integer(4)),
                .reply(.bytes([5])), .reply(.array([.integer(6)])),
            ]
        )
        #expect(rig.inFlight == 0)
    }

    @Test("a call that is abandoned before it is sent leaves its slot: no other call gets its reply")
    func abandonedBeforeSending() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        let number = try rig.submit(2)
        try rig.submit(3)
        #expect(rig.abandon(number) == 2)
        #expect(rig.take() == ["GET key1", "GET key2", "GET key3"])
        rig.receive(.integer(1), .integer(2), .integer(3))
        #expect(rig.ended.map(\.promise) == [1, 3])
        #expect(rig.ending(of: 3) == .reply(.integer(3)))
    }

    @Test("a call that is abandoned after it was sent leaves its slot, too")
    func abandonedAfterSending() throws {
        let rig = try MachineRig.ready()
        let numbers = try (1...4).map { try rig.submit($0) }
        _ = rig.take()
        rig.receive(.integer(1))
        #expect(rig.abandon(numbers[1]) == 2)
        #expect(rig.abandon(numbers[3]) == 4)
        #expect(rig.inFlight == 3)
        rig.receive(.integer(2), .integer(3))
        try rig.submit(5)
        _ = rig.take()
        rig.receive(.integer(4), .integer(5))
        #expect(rig.ended.map(\.promise) == [1, 3, 5])
        #expect(rig.ending(of: 5) == .reply(.integer(5)))
    }

    @Test("abandoning hands a promise back once, and never one that is done or was never there")
    func abandonedOnce() throws {
        let rig = try MachineRig.ready()
        let numbers = try (1...3).map { try rig.submit($0) }
        #expect(Set(numbers).count == 3 && !numbers.contains(0))
        #expect(rig.abandon(numbers[0]) == 1)
        #expect(rig.abandon(numbers[0]) == nil)
        _ = rig.take()
        rig.receive(.null, .null)
        #expect(rig.abandon(numbers[0]) == nil)
        #expect(rig.abandon(numbers[1]) == nil)
        for number in [0, numbers[2] + 1, .max] { #expect(rig.abandon(number) == nil) }
        rig.lost()
        #expect(rig.abandon(numbers[2]) == nil)
        // A number of the time before the loss is not that of a new call.
        let later = try rig.submit(4)
        #expect(!numbers.contains(later))
        for number in numbers { #expect(rig.abandon(number) == nil) }
        #expect(rig.abandon(later) == 4)
        #expect(rig.ended.map(\.promise) == [2, 3])
    }

    // MARK: Deadlines

    @Test("calls end at their deadlines, in whatever order these are, and not before")
    func deadlines() throws {
        let rig = try MachineRig.ready()
        for (promise, milliseconds) in [(1, 300), (2, 100), (3, 200), (4, 100), (5, 1_000)] {
            try rig.submit(promise, deadline: .milliseconds(milliseconds))
        }
        _ = rig.take()
        #expect(rig.wait == .milliseconds(100))
        rig.advance(by: .milliseconds(100) - .nanoseconds(1))
        #expect(rig.ended.isEmpty)
        rig.advance(by: .nanoseconds(1))
        #expect(rig.ended.map(\.promise) == [2, 4])
        #expect(rig.wait == .milliseconds(100))
        rig.advanceToDeadline()
        #expect(rig.ended.map(\.promise) == [2, 4, 3])
        rig.advanceToDeadline()
        #expect(rig.ended.map(\.promise) == [2, 4, 3, 1])
        for promise in 1...4 { #expect(rig.ending(of: promise) == .failure(.timeout, .ambiguous)) }
        #expect(rig.phase == .ready && rig.inFlight == 5)
        // Late replies are dropped; the one that is waited for arrives.
        rig.receive(.integer(1), .integer(2), .integer(3), .integer(4), .integer(5))
        #expect(rig.ended.count == 5)
        #expect(rig.ending(of: 5) == .reply(.integer(5)))
    }

    @Test("a deadline that has passed already, and none at all")
    func extremeDeadlines() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1, deadline: .zero)
        try rig.submit(2, deadline: .seconds(-5))
        try rig.submit(3, deadline: .seconds(1e19))
        rig.advance()
        #expect(rig.ended.map(\.promise) == [1, 2])
        _ = rig.take()
        rig.receive(.null, .null, .integer(3))
        #expect(rig.ending(of: 3) == .reply(.integer(3)))
    }

    @Test("a deadline that passes while the connection is made: the command may still be sent, so its effect is open")
    func deadlineBeforeConnection() throws {
        let rig = MachineRig()
        try rig.submit(1, deadline: .milliseconds(100))
        try rig.submit(2)
        rig.advance()
        rig.advance(by: .milliseconds(100))
        #expect(rig.ending(of: 1) == .failure(.timeout, .ambiguous))
        rig.opened()
        rig.answerHandshake()
        #expect(rig.take() == ["GET key1", "GET key2"])
        rig.receive(.integer(1), .integer(2))
        #expect(rig.ending(of: 2) == .reply(.integer(2)))
        #expect(rig.ended.count == 2)
    }

    @Test("an abandoned call has no deadline any more, an answered one neither")
    func noDeadlineLeft() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1, deadline: .milliseconds(100))
        let number = try rig.submit(2, deadline: .milliseconds(100))
        _ = rig.take()
        #expect(rig.abandon(number) == 2)
        rig.receive(.null)
        rig.advance(by: .milliseconds(500))
        #expect(rig.ended.count == 1)
        #expect(rig.ending(of: 1) == .reply(.null))
    }

    // MARK: Replies without a request

    @Test("a reply without a request closes the connection")
    func unasked() throws {
        let rig = try MachineRig.ready()
        #expect(rig.receive(.error("ERR")) == .close)
        #expect(rig.phase == .waiting)
        #expect(rig.machine.lastError?.code == .protocolViolation)
    }

    @Test("one reply too many: not one of them is trusted")
    func tooMany() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        try rig.submit(2)
        _ = rig.take()
        #expect(rig.receive(.integer(1), .integer(2), .integer(3)) == .close)
        #expect(rig.ending(of: 1) == .failure(.protocolViolation, .ambiguous))
        #expect(rig.ending(of: 2) == .failure(.connectionLost, .ambiguous))
        #expect(rig.ended.count == 2)
    }

    @Test("a command that is refused before all of it was sent has its reply")
    func earlyRefusal() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        let length = rig.takeBytes().count
        #expect(rig.receive(.error("ERR Protocol error: invalid bulk length"), unsent: length - 1) == nil)
        #expect(rig.ending(of: 1) == .reply(.error("ERR Protocol error: invalid bulk length")))
    }

    @Test("a reply is no answer to a command that was not sent yet")
    func beforeSending() throws {
        let rig = try MachineRig.ready()
        try rig.submit(1)
        _ = rig.take()
        try rig.submit(2)
        #expect(rig.receive(.integer(1), .integer(2)) == .close)
        #expect(rig.ending(of: 1) == .failure(.protocolViolation, .ambiguous))
        #expect(rig.ending(of: 2) == .failure(.connectionLost, .notApplied))

        let unsent = try MachineRig.ready()
        try unsent.submit(1)
        let length = unsent.takeBytes().count
        #expect(unsent.receive(.integer(1), unsent: length) == .close)
        #expect(unsent.ending(of: 1) == .failure(.protocolViolation, .notApplied))

        let other = try MachineRig.ready()
        try other.submit(1)
        #expect(other.receive(.integer(1)) == .close)
        #expect(other.ending(of: 1) == .failure(.protocolViolation, .notApplied))
    }
}
