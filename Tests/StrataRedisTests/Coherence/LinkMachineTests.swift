import Strata
import Testing

@testable import StrataRedis

@Suite("The invalidation link's state machine")
struct LinkMachineTests {
    /// A machine with a clock, and what it has said.
    private struct Rig: ~Copyable {
        var machine: LinkMachine
        var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
        var notices: [LinkMachine.Notice] = []
        var output = CommandWriter()

        init(password: String? = nil, seed: UInt64 = 1, pingTimeout: Duration? = nil) throws {
            var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
            if let pingTimeout {
                configuration.linkPingTimeout = pingTimeout
                configuration.linkPingInterval = pingTimeout
            }
            configuration.reconnectDelay = .milliseconds(50) ... .seconds(5)
            configuration.password = password.map { Secret($0) }
            var settings = LinkSettings(configuration)
            settings.handshake = Handshake(configuration, identifies: false)
            machine = LinkMachine(settings: settings, seed: seed)
        }

        mutating func advance(by duration: Duration = .zero) -> LinkMachine.Action? {
            now = now.advanced(by: duration)
            return machine.advance(now: now, &notices)
        }

        mutating func receive(_ reply: RESPValue) -> LinkMachine.Action? {
            machine.received(reply, now: now, &notices)
        }

        mutating func takeOutput() -> String {
            output.removeAll()
            machine.exchangeOutput(with: &output)
            return String(decoding: output.bytes, as: UTF8.self).split(separator: "\r\n").map { $0 + " " }.joined()
        }

        mutating func takeNotices() -> [LinkMachine.Notice] {
            defer { notices = [] }
            return notices
        }

        /// Goes through the handshake of a server that permits everything.
        mutating func establish() {
            let topics = LinkTopics(prefixes: [Array("p:v:".utf8)], channels: [Array("p:ev".utf8)])
            _ = machine.listen(to: topics, now: now, &notices)
            #expect(advance() == .open)
            answerHandshake()
        }

        mutating func answerHandshake() {
            machine.opened()
            #expect(receive(.status("OK")) == nil)
            #expect(receive(.status("PONG")) == nil)
            #expect(receive(.integer(7)) == nil)
            #expect(receive(.status("OK")) == nil)
            #expect(receive(subscribed("__redis__:invalidate", 1)) == nil)
            #expect(receive(subscribed("p:ev", 2)) == nil)
        }
    }

    private static func subscribed(_ channel: String, _ count: Int64) -> RESPValue {
        .array([.bytes(Array("subscribe".utf8)), .bytes(Array(channel.utf8)), .integer(count)])
    }

    private static func message(_ channel: String, _ payload: RESPValue) -> RESPValue {
        .array([.bytes(Array("message".utf8)), .bytes(Array(channel.utf8)), payload])
    }

    private static let pong = RESPValue.array([.bytes(Array("pong".utf8)), .bytes([])])

    @Test("a server that is waited for without end is trusted without end")
    func endless() throws {
        var rig = try Rig(pingTimeout: .seconds(Int64.max))
        rig.establish()
        let isTrusted = rig.takeNotices()
            .contains { if case .established(let until) = $0 { until == .distantFuture } else { false } }
        #expect(isTrusted)
    }

    @Test("nothing happens until a level listens")
    func idle() throws {
        var rig = try Rig()
        #expect(rig.advance(by: .seconds(100)) == nil)
        #expect(rig.machine.nextDeadline == .distantFuture)
    }

    @Test("the handshake asks for the own number, tracks with it, and subscribes to the two channels in two commands")
    func handshake() throws {
        var rig = try Rig()
        let topics = LinkTopics(prefixes: [Array("p:v:".utf8)], channels: [Array("p:ev".utf8)])
        _ = rig.machine.listen(to: topics, now: rig.now, &rig.notices)
        #expect(rig.advance() == .open)
        rig.machine.opened()
        #expect(rig.takeOutput().contains("CLIENT $2 ID"))
        _ = rig.receive(.status("OK"))
        _ = rig.receive(.status("PONG"))
        _ = rig.receive(.integer(7))
        let output = rig.takeOutput()
        #expect(output.contains("TRACKING $2 ON $8 REDIRECT $1 7 $5 BCAST $6 PREFIX $4 p:v:"))
        #expect(output.contains("*2 $9 SUBSCRIBE $20 __redis__:invalidate *2 $9 SUBSCRIBE $4 p:ev"))
        #expect(rig.notices.isEmpty)
    }

    @Test("trust begins with the last acknowledgement and is counted from when tracking was asked for")
    func established() throws {
        var rig = try Rig()
        let start = rig.now
        rig.establish()
        #expect(rig.takeNotices() == [.established(trustedUntil: start.advanced(by: .seconds(3)))])
        #expect(rig.takeOutput().hasSuffix("PING "))
    }

    @Test("a PONG proves what was before the PING before it: trust runs from there")
    func twoPings() throws {
        var rig = try Rig()
        rig.establish()
        let tracked = rig.now
        _ = rig.takeNotices()
        #expect(rig.advance(by: .milliseconds(100)) == nil)
        let first = rig.now.advanced(by: .milliseconds(-100))
        _ = rig.receive(Self.pong)
        #expect(rig.takeNotices() == [.trusted(until: tracked.advanced(by: .seconds(3)), told: tracked)])
        _ = rig.takeOutput()
        // The second PING leaves a second after the first; its PONG proves what was before the first.
        #expect(rig.advance(by: .milliseconds(900)) == nil)
        let second = rig.now
        #expect(rig.takeOutput().contains("PING"))
        _ = rig.advance(by: .milliseconds(300))
        _ = rig.receive(Self.pong)
        #expect(rig.takeNotices() == [.trusted(until: first.advanced(by: .seconds(3)), told: first)])
        _ = rig.advance(by: .milliseconds(700))
        _ = rig.receive(Self.pong)
        #expect(rig.takeNotices() == [.trusted(until: second.advanced(by: .seconds(3)), told: second)])
    }

    @Test("a PING that is not answered in its time ends the link")
    func frozen() throws {
        var rig = try Rig()
        rig.establish()
        _ = rig.takeNotices()
        #expect(rig.advance(by: .milliseconds(999)) == nil)
        #expect(rig.advance(by: .milliseconds(1)) == .close)
        guard case .lost(let error)? = rig.takeNotices().first else {
            Issue.record("the loss was not told")
            return
        }
        #expect(error.code == .connectionLost)
        #expect(rig.machine.phase == .waiting)
        #expect(rig.advance(by: .seconds(6)) == .open)
    }

    @Test("keys, a flush and events are told; forged payloads are not")
    func messages() throws {
        var rig = try Rig()
        rig.establish()
        _ = rig.takeNotices()
        let channel = "__redis__:invalidate"
        #expect(rig.receive(Self.message(channel, .array([.bytes([1]), .bytes([2])]))) == nil)
        #expect(rig.receive(Self.message(channel, .null)) == nil)
        #expect(rig.receive(Self.message(channel, .bytes(Array("forged".utf8)))) == nil)
        #expect(rig.receive(Self.message("p:ev", .bytes([9]))) == nil)
        #expect(
            rig.takeNotices() == [
                .changed([[1], [2]]), .everythingChanged, .event(channel: Array("p:ev".utf8), message: [9]),
            ]
        )
    }

    @Test("what cannot be read of a message may be anything that has changed")
    func unreadable() throws {
        var rig = try Rig()
        rig.establish()
        _ = rig.takeNotices()
        let channel = "__redis__:invalidate"
        let messages: [RESPValue] = [
            Self.message(channel, .array([.bytes([1]), .oversized(70_000)])),
            Self.message(channel, .array([.integer(1)])),
            Self.message("p:ev", .oversized(70_000)),
            .array([.bytes(Array("message".utf8)), .oversized(70_000), .array([.bytes([1])])]),
        ]
        for message in messages {
            #expect(rig.receive(message) == nil)
            #expect(rig.takeNotices() == [.everythingChanged])
        }
    }

    @Test("a server that never answers the request for tracking is not relied on")
    func untracked() throws {
        var rig = try Rig()
        _ = rig.machine.listen(to: LinkTopics(prefixes: [[1]], channels: []), now: rig.now, &rig.notices)
        _ = rig.advance()
        rig.machine.opened()
        for reply in [.status("OK"), .status("PONG"), .integer(7)] as [RESPValue] { #expect(rig.receive(reply) == nil) }
        #expect(rig.receive(Self.subscribed("__redis__:invalidate", 1)) == .close)
        #expect(rig.machine.phase == .waiting)
    }

    @Test("a notice may come before the acknowledgement of the subscription")
    func earlyNotice() throws {
        var rig = try Rig()
        let topics = LinkTopics(prefixes: [[1]], channels: [])
        _ = rig.machine.listen(to: topics, now: rig.now, &rig.notices)
        _ = rig.advance()
        rig.machine.opened()
        for reply in [.status("OK"), .status("PONG"), .integer(7), .status("OK")] as [RESPValue] {
            #expect(rig.receive(reply) == nil)
        }
        #expect(rig.receive(Self.message("__redis__:invalidate", .array([.bytes([1])]))) == nil)
        #expect(rig.takeNotices() == [.changed([[1]])])
        #expect(rig.receive(Self.subscribed("__redis__:invalidate", 1)) == nil)
        #expect(rig.machine.phase == .live)
    }

    @Test("what the server refuses is named", arguments: ["CLIENT TRACKING", "SUBSCRIBE", "CLIENT ID"])
    func refused(command: String) throws {
        var rig = try Rig()
        _ = rig.machine.listen(to: LinkTopics(prefixes: [[1]], channels: [[2]]), now: rig.now, &rig.notices)
        _ = rig.advance()
        rig.machine.opened()
        var replies: [RESPValue] = [.status("OK"), .status("PONG")]
        if command != "CLIENT ID" { replies.append(.integer(7)) }
        if command == "SUBSCRIBE" { replies.append(.status("OK")) }
        for reply in replies { #expect(rig.receive(reply) == nil) }
        #expect(rig.receive(.error("NOPERM this user has no permissions")) == .close)
        guard case .lost(let error)? = rig.takeNotices().last else {
            Issue.record("the refusal was not told")
            return
        }
        #expect(error.message == "\(command) was refused: NOPERM")
    }

    @Test("other topics make a standing link anew, at once; the same ones do not")
    func topics() throws {
        var rig = try Rig()
        rig.establish()
        _ = rig.takeNotices()
        let same = LinkTopics(prefixes: [Array("p:v:".utf8)], channels: [Array("p:ev".utf8)])
        #expect(rig.machine.listen(to: same, now: rig.now, &rig.notices) == nil)
        let more = LinkTopics(prefixes: [[1], [2]], channels: [])
        #expect(rig.machine.listen(to: more, now: rig.now, &rig.notices) == .close)
        guard case .lost? = rig.takeNotices().first else {
            Issue.record("the loss was not told")
            return
        }
        #expect(rig.advance() == .open)
    }

    @Test("a link that does not stand yet is made anew for other topics, which is no failure")
    func topicsMeanwhile() throws {
        var rig = try Rig()
        let (some, more) = (LinkTopics(prefixes: [[1]]), LinkTopics(prefixes: [[1], [2]]))
        #expect(rig.machine.listen(to: some, now: rig.now, &rig.notices) == nil)
        #expect(rig.advance() == .open)
        // Nothing is asked for yet.
        #expect(rig.machine.listen(to: more, now: rig.now, &rig.notices) == nil)
        rig.machine.opened()
        #expect(rig.machine.listen(to: some, now: rig.now, &rig.notices) == .close)
        #expect(rig.advance() == .open)
        // Without a topic the server would tell of every key.
        #expect(rig.machine.listen(to: LinkTopics(), now: rig.now, &rig.notices) == .close)
        #expect(rig.machine.nextDeadline == .distantFuture && rig.advance(by: .seconds(100)) == nil)
        #expect(rig.takeNotices() == [])
    }

    @Test("a PING that is under way when the link begins anew is no proof, and its answer is none too many")
    func pingUnderWay() throws {
        var rig = try Rig()
        let topics = LinkTopics(prefixes: [Array("p:v:".utf8)], channels: [Array("p:ev".utf8)], tracksReads: true)
        _ = rig.machine.listen(to: topics, now: rig.now, &rig.notices)
        #expect(rig.advance() == .open)
        rig.answerHandshake()
        rig.machine.readsTracked(now: rig.now, &rig.notices)
        rig.machine.readsProven(until: .distantFuture)
        rig.now = rig.now.advanced(by: .milliseconds(10))
        rig.machine.readsForgotten(now: rig.now, &rig.notices)
        let begun = rig.now
        rig.machine.readsTracked(now: rig.now, &rig.notices)
        rig.machine.readsProven(until: .distantFuture)
        _ = rig.takeNotices()
        #expect(rig.receive(Self.pong) == nil)
        #expect(rig.takeNotices() == [])
        rig.now = rig.now.advanced(by: .milliseconds(10))
        #expect(rig.receive(Self.pong) == nil)
        guard case .trusted(_, begun)? = rig.takeNotices().first else {
            Issue.record("the answer to the second was taken for something else")
            return
        }
    }

    @Test("a link that is shut down stays so")
    func shutDown() throws {
        var rig = try Rig()
        rig.establish()
        _ = rig.takeNotices()
        #expect(rig.machine.shutDown(&rig.notices) == .close)
        #expect(rig.takeNotices().count == 1)
        #expect(rig.advance(by: .seconds(100)) == nil)
        #expect(rig.machine.shutDown(&rig.notices) == nil)
    }

    /// The longest delays that a hundred machines choose, loss after loss.
    private func longestDelays(_ losses: Int, standing: Duration, failing: Bool = false) throws -> [Duration] {
        var longest = [Duration](repeating: .zero, count: losses)
        for seed in 0..<100 as Range<UInt64> {
            var rig = try Rig(seed: seed)
            rig.establish()
            for loss in 0..<losses {
                let error = RedisError(code: .connectionLost, message: "gone")
                if failing, loss > 0 {
                    rig.machine.openFailed(error, now: rig.now, &rig.notices)
                } else {
                    rig.now = rig.now.advanced(by: standing)
                    rig.machine.lost(error, now: rig.now, &rig.notices)
                }
                let delay = rig.now.duration(to: rig.machine.nextDeadline)
                longest[loss] = max(longest[loss], delay)
                #expect(rig.advance(by: delay) == .open)
                if !failing { rig.answerHandshake() }
            }
        }
        return longest
    }

    @Test("attempts that fail wait longer and longer")
    func backOff() throws {
        let longest = try longestDelays(9, standing: .seconds(1), failing: true)
        for (loss, delay) in longest.enumerated() {
            let bound = min(Duration.milliseconds(50) * (1 << loss), .seconds(5))
            #expect(delay <= bound && delay > bound / 2, "attempt \(loss)")
        }
    }

    @Test("so do links that are lost as soon as they stand, and one that has stood for a while begins anew")
    func stability() throws {
        for (loss, delay) in try longestDelays(9, standing: .milliseconds(999)).enumerated() {
            let bound = min(Duration.milliseconds(50) * (1 << (loss + 1)), .seconds(5))
            #expect(delay <= bound && delay > bound / 2, "loss \(loss)")
        }
        for delay in try longestDelays(9, standing: .seconds(1)) { #expect(delay <= .milliseconds(50)) }
    }

    @Test("a link to a server that is not the one to listen to is given up and made anew")
    func abandoned() throws {
        var rig = try Rig()
        rig.establish()
        _ = rig.takeNotices()
        let error = RedisError(code: .connectionLost, message: "a replica")
        #expect(rig.machine.abandon(error, now: rig.now, &rig.notices) == .close)
        #expect(rig.takeNotices() == [.lost(error)])
        #expect(rig.advance(by: .seconds(5)) == .open)
        #expect(rig.machine.abandon(error, now: rig.now, &rig.notices) == .close)
        #expect(rig.machine.abandon(error, now: rig.now, &rig.notices) == nil)
    }
}
