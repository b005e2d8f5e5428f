import Strata

@testable import StrataRedis

/// A connection's state machine with the clock, the socket and the callers in a test's hands; promises are numbers.
final class MachineRig {
    typealias Machine = ConnectionMachine<Int>

    /// How a call ended.
    enum Ending: Hashable {
        case reply(RESPValue)
        case failure(RedisError.Code, RedisError.Effect)
    }

    private(set) var machine: Machine
    private(set) var now = MonotonicInstant(nanoseconds: 5_000_000_000_000)
    /// How calls ended, in the order in which they did.
    private(set) var ended: [(promise: Int, ending: Ending)] = []
    private(set) var errors: [Int: RedisError] = [:]
    private var buffer = CommandWriter()

    init(
        _ endpoint: RedisEndpoint = .tcp(host: "redis.test"),
        seed: UInt64 = 1,
        checksOrder: Bool = false,
        _ configure: (inout RedisConfiguration) -> Void = { _ in }
    ) {
        var configuration = RedisConfiguration(endpoint: endpoint)
        // PING alone is the shortest handshake.
        configuration.clientName = nil
        configure(&configuration)
        var settings = ConnectionSettings(configuration)
        settings.checksOrder = checksOrder
        settings.handshake = Handshake(configuration, identifies: false)
        machine = Machine(settings: settings, seed: seed)
    }

    // MARK: Callers

    @discardableResult
    func submit(
        _ promise: Int,
        _ command: String...,
        deadline: Duration = .seconds(60)
    ) throws(RedisError) -> UInt64 {
        try submit(promise, words: command.isEmpty ? ["GET", "key\(promise)"] : command, deadline: deadline)
    }

    @discardableResult
    func submit(
        _ promise: Int,
        words: [String],
        deadline: Duration = .seconds(60),
        isOwn: Bool = false,
        expecting expected: ReplyKinds = .any
    ) throws(RedisError) -> UInt64 {
        let end = now.advanced(by: deadline)
        return try machine.submit(promise, deadline: end, now: now, isOwn: isOwn, expecting: expected) { writer in
            writer.begin(words.count)
            for word in words { writer.argument(word) }
        }
    }

    func abandon(_ number: UInt64) -> Int? { machine.abandon(number) }

    func drain(within grace: Duration) { machine.drain(until: now.advanced(by: grace)) }

    // MARK: The socket

    /// Lets time pass, then does what `pump` of the driver does before it sends.
    @discardableResult
    func advance(by step: Duration = .zero, unsent: Int = 0) -> [Machine.Action] {
        now = now.advanced(by: step)
        var completions: [Machine.Completion] = []
        var actions: [Machine.Action] = []
        while let action = machine.advance(now: now, unsent: unsent, &completions) {
            actions.append(action)
            precondition(actions.count < 100, "advance does not come to an end")
        }
        note(completions)
        return actions
    }

    /// Lets time pass until the machine wants to be called.
    @discardableResult
    func advanceToDeadline() -> [Machine.Action] {
        advance(by: now.duration(to: machine.nextDeadline))
    }

    /// Lets time pass without the machine being called.
    func pass(_ step: Duration) { now = now.advanced(by: step) }

    /// Lets time pass as it does for a thread that is never late.
    @discardableResult
    func advancePunctually(by step: Duration) -> [Machine.Action] {
        let end = now.advanced(by: step)
        var actions: [Machine.Action] = []
        while now < end, actions.isEmpty {
            actions += advance(by: min(now.duration(to: end), .nanoseconds(ConnectionHealth.tick)))
        }
        return actions
    }

    /// How long until the machine wants to be called; `nil` for never.
    var wait: Duration? {
        machine.nextDeadline == .distantFuture ? nil : now.duration(to: machine.nextDeadline)
    }

    /// Takes all bytes that may be sent.
    func takeBytes() -> [UInt8] {
        var bytes: [UInt8] = []
        while machine.hasOutput {
            buffer.removeAll()
            machine.exchangeOutput(with: &buffer, now: now)
            bytes += Array(buffer.bytes)
        }
        return bytes
    }

    /// Takes all commands that may be sent, as text.
    func take() -> [String] {
        let replies = try? ReplyReader().read(takeBytes())
        return (replies ?? [])
            .map { command in
                (command.array ?? []).map { $0.string ?? "?" }.joined(separator: " ")
            }
    }

    func opened() { machine.opened() }

    func openFailed(_ code: RedisError.Code = .connectionFailed) {
        var completions: [Machine.Completion] = []
        machine.openFailed(RedisError(code: code, message: "refused"), now: now, &completions)
        note(completions)
    }

    func lost(unsent: Int = 0) {
        var completions: [Machine.Completion] = []
        machine.lost(RedisError(code: .connectionLost, message: "gone"), unsent: unsent, now: now, &completions)
        note(completions)
    }

    @discardableResult
    func receive(_ replies: RESPValue..., unsent: Int = 0) -> Machine.Action? { receive(replies, unsent: unsent) }

    @discardableResult
    func receive(_ replies: [RESPValue], bytes: Int = 0, unsent: Int = 0) -> Machine.Action? {
        var replies = replies
        var completions: [Machine.Completion] = []
        let action = machine.received(&replies, bytes: bytes, unsent: unsent, now: now, &completions)
        note(completions)
        return action
    }

    /// Answers a handshake that is a PING alone.
    func answerHandshake() {
        _ = take()
        receive(.status("PONG"))
    }

    /// A rig whose connection is ready, without a call.
    static func ready(
        seed: UInt64 = 1,
        checksOrder: Bool = false,
        _ configure: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> MachineRig {
        let rig = MachineRig(seed: seed, checksOrder: checksOrder, configure)
        try rig.submit(-1, "FIRST")
        rig.advance()
        rig.opened()
        rig.answerHandshake()
        _ = rig.take()
        rig.receive(.status("FIRST"))
        rig.ended = []
        return rig
    }

    // MARK: What came of it

    private func note(_ completions: [Machine.Completion]) {
        for (promise, outcome) in completions {
            switch outcome {
            case .success(let reply): ended.append((promise, .reply(reply)))
            case .failure(let error):
                ended.append((promise, .failure(error.code, error.effect)))
                errors[promise] = error
            }
        }
    }

    /// How a call ended; `nil` while it is under way.
    func ending(of promise: Int) -> Ending? { ended.last { $0.promise == promise }?.ending }

    var phase: Machine.Phase { machine.phase }

    var inFlight: Int { machine.inFlight }

    var hasOutput: Bool { machine.hasOutput }
}
