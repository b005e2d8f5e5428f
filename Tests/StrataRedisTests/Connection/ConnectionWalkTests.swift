import Strata
import Testing

@testable import StrataRedis

/// Random events, a server that answers what it was sent, and the model beside the machine.
@Suite("Random walks of a connection")
struct ConnectionWalkTests {
    @Test("every call ends once, as the model says, and never with another's reply", arguments: 0..<40)
    func walk(number: Int) throws {
        var random = SplitMix64.announced("\(#function) \(number)")
        let walk = ConnectionWalk(random: random.next())
        try walk.run(steps: 1_500)
    }
}

/// One walk.
///
/// The promise of a call is its number, and so is the right reply to it.
private final class ConnectionWalk {
    private var random: SplitMix64
    private let rig: MachineRig
    private var model: ConnectionModel
    private var nextPromise = 1
    private var numbers: [(promise: Int, number: UInt64)] = []
    /// How often each call came to its end: answered, failed, or handed back.
    private var ends: [Int: Int] = [:]
    private var checked = 0
    /// Calls whose failure said that they were not run.
    private var notApplied: Set<Int> = []

    /// Bytes that were taken and not sent.
    private var sending: [UInt8] = []
    private var server = ReplyReader()
    /// Commands that the server has read and not answered.
    private var unanswered: [String] = []
    /// Bytes of a command that the server has begun to read.
    private var begun = 0
    private var lengths: [Int: Int] = [:]
    private var events: [String] = []

    init(random seed: UInt64) {
        random = SplitMix64(seed: seed)
        var configuration = RedisConfiguration(endpoint: .tcp(host: "redis.test"))
        configuration.clientName = nil
        configuration.inFlightLimit = .random(in: 1...40, using: &random)
        configuration.queuedBytesLimit = .random(in: 30...800, using: &random)
        configuration.connectTimeout = .milliseconds(.random(in: 1...800, using: &random))
        configuration.healthWindow = .milliseconds(.random(in: 1...3_000, using: &random))
        configuration.keepalive = .milliseconds(.random(in: 1...3_000, using: &random))
        configuration.reconnectDelay = .milliseconds(10) ... .milliseconds(500)
        let settings = configuration
        rig = MachineRig(seed: random.next()) { $0 = settings }
        model = ConnectionModel(configuration)
    }

    func run(steps: Int) throws {
        for _ in 0..<steps {
            step()
            try check()
        }
        note("drain")
        rig.drain(within: .seconds(1))
        model.drain(until: rig.now.advanced(by: .seconds(1)))
        for _ in 0..<200 {
            step()
            try check()
        }
        advance(by: .seconds(1))
        try check()
        #expect(rig.phase == .closed && rig.inFlight == 0)
        #expect(ends.count == nextPromise - 1 && ends.values.allSatisfy { $0 == 1 }, "a call without an end")
    }

    private func note(_ event: String) { events.append(event) }

    // MARK: Events

    private func step() {
        switch Int.random(in: 0...23, using: &random) {
        case 0...6: submit()
        case 7: abandon()
        case 8...11: advance(by: .microseconds(.random(in: 0...20_000, using: &random)))
        case 12 where random.once(in: 4): advance(by: .milliseconds(.random(in: 0...4_000, using: &random)))
        case 13...15: moveSocket()
        case 16...18: send()
        case 19...21: answer()
        case 22 where random.once(in: 6): lose()
        case 23 where random.once(in: 12): sayUnasked()
        default: advance(by: .zero)
        }
    }

    private func submit() {
        let promise = nextPromise
        let filler = String(repeating: "x", count: random.once(in: 10) ? 400 : .random(in: 0...30, using: &random))
        let deadline = Duration.milliseconds(random.once(in: 3) ? .random(in: -1...50, using: &random) : 10_000)
        let words = ["SET", "\(promise)", filler]
        let length = words.reduce("*3\r\n".utf8.count) { $0 + "$\($1.utf8.count)\r\n\($1)\r\n".utf8.count }
        let expected = model.submit(promise, length: length, deadline: rig.now.advanced(by: deadline), now: rig.now)
        var refusal: RedisError.Code?
        do throws(RedisError) {
            lengths[promise] = length
            numbers.append((promise, try rig.submit(promise, words: words, deadline: deadline)))
            nextPromise += 1
        } catch {
            refusal = error.code
        }
        note("submit \(promise), \(length) bytes: \(refusal?.description ?? "taken")")
        #expect(refusal == expected, "\(log)")
    }

    private func abandon() {
        guard let (promise, number) = numbers.suffix(60).randomElement(using: &random) else { return }
        let returned = rig.abandon(number)
        note("abandon \(promise): \(returned.map { "\($0)" } ?? "nothing")")
        #expect(returned == (model.abandon(promise) ? promise : nil), "\(log)")
        if let returned { ends[returned, default: 0] += 1 }
    }

    private func advance(by step: Duration) {
        let actions = rig.advance(by: step)
        note("advance \(step): \(actions)")
        var expected: [MachineRig.Machine.Action] = []
        // Only the machine knows when the delay is over; the model says until when at the latest.
        while let action = model.advance(now: rig.now, isDue: actions.contains(.open)) { expected.append(action) }
        #expect(actions == expected, "\(log)")
        #expect(!model.isOverdue(now: rig.now), "\(log)")
        if actions.contains(.close) { forgetSocket() }
    }

    private func moveSocket() {
        let fails = random.once(in: 3)
        // One in ten comes at the wrong time, and must change nothing.
        guard model.link == .connecting || random.once(in: 10) else { return }
        note(fails ? "open failed" : "opened")
        if fails {
            rig.openFailed()
            model.openFailed(.connectionFailed, now: rig.now)
        } else {
            rig.opened()
            model.opened()
        }
    }

    /// The system takes some of the bytes, and the server reads them.
    private func send() {
        if sending.isEmpty, model.link == .ready || model.link == .handshaking {
            sending = rig.takeBytes()
            model.took()
        }
        let count = random.once(in: 3) ? sending.count : .random(in: 0...sending.count, using: &random)
        note("send \(count) of \(sending.count)")
        let commands = (try? server.read(Array(sending.prefix(count)))) ?? []
        sending.removeFirst(count)
        begun += count
        for command in commands {
            let words = (command.array ?? []).compactMap(\.string)
            unanswered.append(words.first == "PING" ? "PING" : words[1])
            begun -= Int(unanswered.last ?? "").flatMap { lengths[$0] } ?? ConnectionModel.pingLength
            if let promise = Int(words.count > 1 ? words[1] : "") {
                #expect(!notApplied.contains(promise), "\(promise) was run after all\n\(log)")
            }
        }
    }

    private func answer() {
        guard !unanswered.isEmpty else { return }
        let count = Int.random(in: 1...unanswered.count, using: &random)
        var replies = unanswered.prefix(count).map { Int64($0).map { RESPValue.integer($0) } ?? .status("PONG") }
        unanswered.removeFirst(count)
        if model.link == .handshaking, random.once(in: 5) { replies[0] = .error("LOADING") }
        receive(replies)
    }

    private func sayUnasked() {
        // With a command before it, it would be taken for that one's reply.
        guard unanswered.isEmpty, begun == 0 else { return }
        receive([.error("ERR who are you")])
    }

    private func receive(_ replies: [RESPValue]) {
        let action = rig.receive(replies, unsent: sending.count)
        note("receive \(replies): \(action.map { "\($0)" } ?? "fine")")
        #expect((action == .close) == model.received(replies, unsent: sending.count, now: rig.now), "\(log)")
        if action == .close { forgetSocket() }
    }

    private func lose() {
        note("lost with \(sending.count) unsent")
        rig.lost(unsent: sending.count)
        model.lost(unsent: sending.count, now: rig.now)
        if rig.phase == .waiting { forgetSocket() }
    }

    private func forgetSocket() {
        sending = []
        unanswered = []
        begun = 0
        server = ReplyReader()
    }

    // MARK: Checks

    private func check() throws {
        let found = rig.ended[checked...]
        let expected = model.ended[min(checked, model.ended.count)...]
        try #require(found.map(\.promise) == expected.map(\.promise), "\(log)")
        try #require(found.map(\.ending) == expected.map(\.ending), "\(log)")
        for (promise, ending) in found {
            ends[promise, default: 0] += 1
            switch ending {
            case .reply(let reply): #expect(reply == .integer(Int64(promise)), "\(log)")
            case .failure(_, let effect): if effect == .notApplied { notApplied.insert(promise) }
            }
        }
        checked = rig.ended.count
        try #require(rig.inFlight == model.inFlight, "\(log)")
        let link: ConnectionModel.Link =
            switch rig.phase {
            case .idle, .waiting: .none
            case .opening: .connecting
            case .handshaking: .handshaking
            case .ready: .ready
            case .closed: .closed
            }
        try #require(link == model.link, "\(log)")
        if model.link == .ready { #expect(rig.hasOutput == model.hasQueued, "\(log)") }
    }

    private var log: String { events.suffix(25).joined(separator: "\n") }
}
