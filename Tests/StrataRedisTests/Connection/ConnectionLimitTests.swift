import Testing

@testable import StrataRedis

@Suite("Limits of a connection")
struct ConnectionLimitTests {
    private func refusal(_ rig: MachineRig, _ command: String...) -> RedisError? {
        do throws(RedisError) {
            try rig.submit(999, words: command.isEmpty ? ["GET", "x"] : command)
            return nil
        } catch {
            return error
        }
    }

    @Test("as many replies as the limit says are owed at once; the next call is refused and nothing of it is sent")
    func inFlight() throws {
        let rig = try MachineRig.ready { $0.inFlightLimit = 3 }
        for promise in 0..<3 { try rig.submit(promise) }
        #expect(refusal(rig)?.code == .overloaded)
        #expect(refusal(rig)?.effect == .notApplied)
        #expect(rig.take() == ["GET key0", "GET key1", "GET key2"])
        #expect(refusal(rig)?.code == .overloaded)
        #expect(!rig.hasOutput)
        rig.receive(.null)
        try rig.submit(3)
        #expect(refusal(rig)?.code == .overloaded)
        rig.receive(.null, .null)
        try rig.submit(4)
        #expect(rig.take() == ["GET key3", "GET key4"])
        rig.receive(.integer(3), .integer(4))
        #expect(rig.ending(of: 4) == .reply(.integer(4)))
        #expect(rig.ending(of: 999) == nil)
    }

    @Test("beyond the limits the client's own calls have room, as the end of a lease, and not without end")
    func own() throws {
        let rig = try MachineRig.ready { ($0.inFlightLimit, $0.queuedBytesLimit) = (100, 3_000) }
        for promise in 0..<100 { try rig.submit(promise) }
        #expect(refusal(rig)?.code == .overloaded)
        for promise in 100..<125 { try rig.submit(promise, words: ["PING"], isOwn: true) }
        #expect(throws: RedisError.self) { try rig.submit(125, words: ["PING"], isOwn: true) }
        #expect(refusal(rig)?.code == .overloaded)
        #expect(rig.take().count == 125)
        for _ in 0..<26 { rig.receive(.null) }
        try rig.submit(126)
    }

    @Test("calls that were given up count until their reply is here")
    func abandoned() throws {
        let rig = try MachineRig.ready { $0.inFlightLimit = 2 }
        let numbers = try (0..<2).map { try rig.submit($0) }
        for number in numbers { _ = rig.abandon(number) }
        #expect(refusal(rig)?.code == .overloaded)
        _ = rig.take()
        rig.receive(.null)
        #expect(refusal(rig) == nil)
    }

    @Test("queued bytes up to the limit are taken; a command beyond it leaves no trace")
    func queuedBytes() throws {
        // *2 $3 GET $1 x with line ends: 20 bytes.
        let rig = try MachineRig.ready { $0.queuedBytesLimit = 60 }
        for promise in 0..<3 { try rig.submit(promise, "GET", "x") }
        #expect(refusal(rig)?.code == .overloaded)
        #expect(rig.inFlight == 3)
        #expect(rig.takeBytes().count == 60)
        for promise in 3..<5 { try rig.submit(promise, "GET", "x") }
        #expect(refusal(rig, "GET", "yy")?.code == .overloaded)
        try rig.submit(5, "GET", "z")
        #expect(rig.take() == ["GET x", "GET x", "GET z"])
        rig.receive(.integer(0), .integer(1), .integer(2), .integer(3), .integer(4), .integer(5))
        for promise in 0...5 { #expect(rig.ending(of: promise) == .reply(.integer(Int64(promise)))) }
    }

    @Test("a single command may be larger than the limit when nothing else waits")
    func hugeCommand() throws {
        let rig = try MachineRig.ready { $0.queuedBytesLimit = 100 }
        let huge = String(repeating: "v", count: 5_000)
        try rig.submit(1, "SET", "k", huge)
        #expect(refusal(rig)?.code == .overloaded)
        #expect(refusal(rig, "SET", "k", huge)?.code == .overloaded)
        #expect(rig.take() == ["SET k \(huge)"])
        try rig.submit(2, "GET", "k")
        #expect(refusal(rig, "SET", "k", huge)?.code == .overloaded)
        #expect(rig.take() == ["GET k"])
        rig.receive(.integer(1), .integer(2))
        #expect(rig.ended.map(\.promise) == [1, 2])
    }

    @Test("both limits hold while the connection is made")
    func whileOpening() throws {
        let rig = MachineRig { ($0.inFlightLimit, $0.queuedBytesLimit) = (3, 1_000) }
        for promise in 0..<3 { try rig.submit(promise) }
        #expect(refusal(rig)?.code == .overloaded)
        rig.advance()
        #expect(refusal(rig)?.code == .overloaded)
        rig.opened()
        #expect(refusal(rig)?.code == .overloaded)
        rig.openFailed()
        rig.lost()
        #expect(rig.ended.count == 3)
        let bytes = MachineRig { $0.queuedBytesLimit = 50 }
        for promise in 0..<2 { try bytes.submit(promise, "GET", "x") }
        #expect(refusal(bytes)?.code == .overloaded)
        bytes.advance()
        bytes.opened()
        bytes.answerHandshake()
        #expect(bytes.take() == ["GET x", "GET x"])
    }

    @Test("a refused call gets no second answer when the connection is lost")
    func refusedIsForgotten() throws {
        let rig = try MachineRig.ready { $0.queuedBytesLimit = 20 }
        try rig.submit(1, "GET", "x")
        #expect(refusal(rig)?.code == .overloaded)
        rig.lost()
        #expect(rig.ended.map(\.promise) == [1])
    }
}
