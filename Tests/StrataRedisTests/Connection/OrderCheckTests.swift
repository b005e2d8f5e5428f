import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The order of replies", .timeLimit(.minutes(5)))
struct OrderCheckTests {
    /// The reply to a command that asks for a nonce.
    private func nonce(_ command: String?) throws -> RESPValue {
        let words = try #require(command).split(separator: " ")
        try #require(words.count == 2 && words[0] == "PING")
        return .bytes(Array(words[1].utf8))
    }

    /// A rig with three calls under way, of which the first two have timed out, and the nonce that was asked for.
    private func doubting() throws -> (MachineRig, RESPValue) {
        let rig = try MachineRig.ready(checksOrder: true)
        try rig.submit(1, deadline: .milliseconds(20))
        try rig.submit(2, deadline: .milliseconds(20))
        try rig.submit(3)
        #expect(rig.take().count == 3)
        rig.advance(by: .milliseconds(20))
        #expect(rig.ended.map(\.promise) == [1, 2])
        return (rig, try nonce(rig.take().first))
    }

    @Test("after a timeout replies are held back until the nonce has come at its place")
    func confirmed() throws {
        let (rig, nonce) = try doubting()
        try rig.submit(4)
        _ = rig.take()
        #expect(rig.receive(.integer(1), .integer(2), .integer(3)) == nil)
        #expect(rig.ended.map(\.promise) == [1, 2])
        #expect(rig.receive(nonce, .integer(4)) == nil)
        #expect(rig.ended.map(\.promise) == [1, 2, 3, 4])
        #expect(rig.ending(of: 3) == .reply(.integer(3)))
        #expect(rig.ending(of: 4) == .reply(.integer(4)))
        #expect(rig.inFlight == 0 && rig.phase == .ready)
        try rig.submit(5)
        _ = rig.take()
        rig.receive(.integer(5))
        #expect(rig.ending(of: 5) == .reply(.integer(5)))
    }

    @Test("a nonce that comes too early, or not at its place, ends the connection, and no call gets another's reply")
    func shifted() throws {
        let (early, nonce) = try doubting()
        #expect(early.receive(.integer(2), .integer(3), nonce) == .close)
        #expect(early.ending(of: 3) == .failure(.connectionLost, .ambiguous))

        let (late, _) = try doubting()
        try late.submit(4)
        _ = late.take()
        #expect(late.receive(.integer(0), .integer(1), .integer(2), .integer(3)) == .close)
        #expect(late.ending(of: 3) == .failure(.connectionLost, .ambiguous))
        #expect(late.ending(of: 4) == .failure(.connectionLost, .ambiguous))
    }

    @Test("a server that refuses the nonce cannot show that its replies are in order")
    func refused() throws {
        let (rig, _) = try doubting()
        #expect(rig.receive(.integer(1), .integer(2), .integer(3), .error("NOPERM")) == .close)
        #expect(rig.ending(of: 3) == .failure(.connectionLost, .ambiguous))
    }

    @Test(
        "a proxy that answers PING by itself, or knows no argument, keeps its connections until a call times out",
        arguments: [RESPValue.status("PONG"), .error("ERR wrong number of arguments for 'ping' command")]
    )
    func proxied(answer: RESPValue) throws {
        let rig = try MachineRig.ready(checksOrder: true)
        rig.advance(by: .seconds(1))
        for call in 1...2 { try rig.submit(call) }
        rig.advance()
        #expect(rig.take().count == 3)
        #expect(rig.receive(.integer(1), .integer(2), answer) == nil)
        #expect(rig.ending(of: 2) == .reply(.integer(2)))
        #expect(rig.inFlight == 0 && rig.phase == .ready)
        rig.advance(by: .seconds(1))
        try rig.submit(3, deadline: .milliseconds(20))
        try rig.submit(4)
        rig.advance()
        #expect(rig.take().count == 2)
        rig.advance(by: .milliseconds(20))
        #expect(rig.take().count == 1)
        #expect(rig.receive(.integer(3), .integer(4), answer) == .close)
        #expect(rig.ending(of: 4) == .failure(.connectionLost, .ambiguous))
    }

    @Test(
        "a server that refuses PING for now is asked again, and a nonce that comes late is known",
        arguments: [false, true],
        ["MISCONF it could not save", "LOADING its data", "BUSY with a script", "MASTERDOWN and stale"]
    )
    func refusedForNow(isLate: Bool, refusal: String) throws {
        let rig = try MachineRig.ready(checksOrder: true)
        rig.advance(by: .seconds(1))
        for call in 1...2 { try rig.submit(call) }
        rig.advance()
        let commands = rig.take()
        #expect(rig.receive(.integer(1), .integer(2), .error(refusal)) == nil)
        #expect(rig.ending(of: 2) == .reply(.integer(2)))
        #expect(rig.inFlight == 0 && rig.phase == .ready)
        for call in 3...4 { try rig.submit(call) }
        _ = rig.take()
        if isLate {
            #expect(rig.receive(try nonce(commands.last)) == .close)
        } else {
            #expect(rig.receive(.integer(3), .integer(4)) == nil)
            rig.advance(by: .seconds(1))
            for call in 5...6 { try rig.submit(call) }
            rig.advance()
            #expect(rig.receive(.integer(5), .integer(6), try nonce(rig.take().last)) == nil)
            #expect(rig.ending(of: 6) == .reply(.integer(6)))
        }
    }

    @Test("a PONG is no nonce for a server that has sent one back")
    func pong() throws {
        let (rig, first) = try doubting()
        #expect(rig.receive(.integer(1), .integer(2), .integer(3), first) == nil)
        rig.advance(by: .seconds(1))
        for call in 4...5 { try rig.submit(call) }
        rig.advance()
        #expect(rig.take().count == 3)
        try rig.submit(6)
        _ = rig.take()
        #expect(rig.receive(.integer(4), .integer(5), .status("PONG"), .integer(6)) == .close)
        #expect(rig.ending(of: 6) == .failure(.connectionLost, .ambiguous))
    }

    @Test("a call that times out behind the nonce is followed by another one")
    func again() throws {
        let (rig, first) = try doubting()
        try rig.submit(4, deadline: .milliseconds(20))
        try rig.submit(5)
        _ = rig.take()
        rig.advance(by: .milliseconds(20))
        #expect(rig.take().isEmpty)
        #expect(rig.receive(.integer(1), .integer(2), .integer(3), first, .integer(4), .integer(5)) == nil)
        #expect(rig.ending(of: 3) == .reply(.integer(3)))
        #expect(rig.ending(of: 5) == nil)
        #expect(rig.receive(try nonce(rig.take().first)) == nil)
        #expect(rig.ending(of: 5) == .reply(.integer(5)))
        #expect(rig.inFlight == 0)
    }

    @Test("callers who leave, and whose time is up, while replies are held are gone")
    func leaving() throws {
        let (rig, nonce) = try doubting()
        let number = try rig.submit(4)
        try rig.submit(5, deadline: .milliseconds(10))
        _ = rig.take()
        #expect(rig.receive(.integer(1), .integer(2), .integer(3)) == nil)
        #expect(rig.abandon(number) == 4)
        rig.advance(by: .milliseconds(10))
        #expect(rig.receive(nonce, .integer(4), .integer(5)) == nil)
        #expect(rig.ended.map(\.promise) == [1, 2, 5, 3])
        #expect(rig.receive(try self.nonce(rig.take().first)) == nil)
        #expect(rig.inFlight == 0)
    }

    @Test("what was never sent casts no doubt")
    func unsent() throws {
        let rig = try MachineRig.ready(checksOrder: true)
        try rig.submit(1, deadline: .milliseconds(20))
        rig.advance(by: .milliseconds(20))
        #expect(rig.take() == ["GET key1"])
    }

    @Test("while calls are under way a nonce is asked for ten times a second, and holds nothing back")
    func regularly() throws {
        let rig = try MachineRig.ready(checksOrder: true)
        rig.advance(by: .seconds(1))
        #expect(rig.take().isEmpty)
        try rig.submit(1)
        rig.advance()
        let commands = rig.take()
        #expect(commands.count == 2 && commands[0] == "GET key1")
        try rig.submit(2)
        rig.advance()
        #expect(rig.take() == ["GET key2"])
        #expect(rig.receive(.integer(1)) == nil)
        #expect(rig.ending(of: 1) == .reply(.integer(1)))
        #expect(rig.receive(try nonce(commands[1])) == nil)
        try rig.submit(3)
        rig.advance(by: .milliseconds(99))
        #expect(rig.take() == ["GET key3"])
        rig.advance(by: .milliseconds(1))
        let second = try nonce(rig.take().first)
        // The reply to the second call was lost.
        #expect(rig.receive(.integer(3), second) == .close)
        #expect(rig.ending(of: 3) == .failure(.protocolViolation, .ambiguous))
    }

    @Test("a reply too many shows also where calls are made one after the other")
    func alone() throws {
        let rig = try MachineRig.ready(checksOrder: true)
        rig.advance(by: .seconds(1))
        try rig.submit(1)
        rig.advance()
        #expect(rig.take().count == 2)
        #expect(rig.receive(.integer(0)) == nil)
        try rig.submit(2)
        #expect(rig.receive(.integer(1)) == .close)
        #expect(rig.ending(of: 2) == .failure(.connectionLost, .notApplied))
    }

    @Test("a reply of a kind that its command does not have ends the connection")
    func otherKind() throws {
        for (expected, reply) in [
            (ReplyKinds.status, RESPValue.bytes([])), (.value, .integer(1)), (.list, .null), (.integer, .status("OK")),
            (.integer, .array([])), (.array, .oversized(7)),
        ] {
            let rig = try MachineRig.ready()
            try rig.submit(1, words: ["X"], expecting: expected)
            try rig.submit(2, words: ["Y"])
            _ = rig.take()
            #expect(rig.receive(reply, .integer(2)) == .close)
            #expect(rig.ending(of: 1) == .failure(.protocolViolation, .ambiguous))
            #expect(rig.ending(of: 2) == .failure(.connectionLost, .ambiguous))
        }
        let rig = try MachineRig.ready()
        try rig.submit(1, words: ["X"], expecting: .status)
        _ = rig.take()
        #expect(rig.receive(.error("ERR")) == nil)
    }

    /// The tenth GET is never answered, as if its reply were lost on the way.
    @Test(
        "many callers, one reply lost: the connection is given up within the interval, and no value is wrong after that"
    )
    func manyCallers() async throws {
        let gets = Locked(0)
        let server = try await ScriptedServer.start(answering: { command, connection in
            switch command[0] {
            case "GET":
                let number = gets.withLock { count in
                    count += 1
                    return count
                }
                guard connection > 0 || number != 10 else { return [] }
                return [.send(text: "$\(command[1].utf8.count)\r\n\(command[1])\r\n")]
            case "PING" where command.count > 1: return [.send(text: "$\(command[1].utf8.count)\r\n\(command[1])\r\n")]
            case "PING": return [.send(text: "+PONG\r\n")]
            default: return [.send(text: "+OK\r\n")]
            }
        })
        let redis = try RedisClient(.patient(server.url))
        // Callers that never pause: without a check there is always a next reply, and no call times out.
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    var number = 0
                    while server.snapshot.accepted < 2, !Task.isCancelled {
                        _ = try? await redis.get(RedisKey("\(task)-\(number)"))
                        number += 1
                    }
                    for number in 0..<100 {
                        let key = "\(task)+\(number)"
                        let value = try? await redis.get(RedisKey(key))
                        #expect(value == nil || value == Array(key.utf8))
                    }
                }
            }
        }
        #expect(server.snapshot.accepted >= 2)
        await redis.shutDown()
        await server.stop()
    }
}
