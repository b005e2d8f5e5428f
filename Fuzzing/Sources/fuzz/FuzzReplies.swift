@testable import Strata
@testable import StrataRedis

/// Bytes as they may come from a socket, cut anywhere: the reader answers the same however they are cut, and what it answers
/// is within its limits.
func fuzzReplies(_ bytes: [UInt8]) {
    var input = FuzzInput(bytes)
    let limits = input.choice(2) == 0 ? ReplyLimits() : tightLimits
    let seed = input.byte()
    let stream = input.takeRest()
    let whole = replies(in: stream, limits, piece: { stream.count })
    var random = SplitMix64(seed: UInt64(seed))
    let pieces = replies(in: stream, limits, piece: { Int(random.next() % 7) + 1 })
    require(
        certain(whole.replies) == certain(pieces.replies),
        "other replies in pieces: \(whole) and \(pieces)"
    )
    // The end of a string that is passed over is looked at byte by byte, so pieces may tell a byte earlier.
    require(!whole.isBroken || pieces.isBroken, "broken in one way only: \(whole) and \(pieces)")
    for reply in whole.replies {
        check(reply, limits, depth: 0)
        interpret(reply)
    }
    drive(whole.replies)
}

/// Replies of which it does not matter how the bytes were cut.
///
/// A string that is passed over in pieces is told before its end is here, and in one piece after that; so is every array
/// whose last string it is.
private func certain(_ replies: [RESPValue]) -> ArraySlice<RESPValue> {
    var rest = replies[...]
    while let last = rest.last, endsPassedOver(last) { rest.removeLast() }
    return rest
}

private func endsPassedOver(_ reply: RESPValue) -> Bool {
    switch reply {
    case .oversized: true
    case .array(let elements): elements.last.map(endsPassedOver) ?? false
    default: false
    }
}

private let tightLimits = ReplyLimits(bulkLength: 24, length: 96, elements: 12, depth: 3, lineLength: 20)

private func replies(
    in stream: [UInt8],
    _ limits: ReplyLimits,
    piece: () -> Int
) -> (replies: [RESPValue], isBroken: Bool) {
    let reader = ReplyReader(limits: limits)
    var replies: [RESPValue] = []
    var rest = stream[...]
    while !rest.isEmpty {
        // Memory of its own for each piece, so that reading beyond it is seen.
        let piece = Array(rest.prefix(max(1, piece())))
        rest = rest.dropFirst(piece.count)
        var isBroken = false
        piece.withUnsafeBytes { piece in
            do throws(ReplyReader.Violation) { try reader.read(piece, into: &replies) } catch { isBroken = true }
        }
        if isBroken {
            return (replies, true)
        }
    }
    return (replies, false)
}

private func check(_ reply: RESPValue, _ limits: ReplyLimits, depth: Int) {
    switch reply {
    case .bytes(let bytes): require(bytes.count <= limits.bulkLength, "a bulk string above the limit")
    case .array(let elements):
        require(depth < limits.depth, "arrays deeper than the limit")
        require(elements.count <= limits.elements, "more elements than the limit")
        for element in elements { check(element, limits, depth: depth + 1) }
    default: break
    }
}

/// What is made of a reply without knowing what was asked.
private func interpret(_ reply: RESPValue) {
    _ = (reply.bytes, reply.string, reply.integer, reply.array, reply.isNull)
    _ = RedisClient.time(in: reply)
    let handshake = Handshake(RedisConfiguration(endpoint: .unix(path: "/s")))
    _ = ServerIdentity(reply).map { handshake.misplacement($0, endpoint: "", isNamed: true) }
    ask(reply)
    if case .error(let text) = reply {
        let error = RedisError.reply(text, endpoint: "server")
        _ = (error.description, error.serverCode, error.blamesServer)
    }
    for element in reply.array ?? [] { interpret(element) }
}

/// A Sentinel that answers everything with the same.
private func ask(_ reply: RESPValue) {
    let options = SentinelOptions(endpoints: [.tcp(host: "sentinel")], primary: "name")
    var configuration = RedisConfiguration(sentinels: options)
    for topology in [RedisTopology.sentinel, .auto] {
        configuration.topology = topology
        var question = SentinelQuestion(configuration, options, endpoint: options.endpoints[0])
        var writer = CommandWriter()
        question.begin(&writer)
        for _ in 0..<5 where question.received(reply, &writer) != nil { break }
    }
    var listening = SentinelListening(configuration, options, now: .now)
    for _ in 0..<4 { _ = listening.received(reply) }
}

/// The invalidation link with these replies to whatever it asks, a second between them.
private func drive(_ replies: [RESPValue]) {
    let configuration = RedisConfiguration(endpoint: .tcp(host: "server"))
    var settings = LinkSettings(configuration)
    settings.handshake = Handshake(configuration, identifies: false)
    var machine = LinkMachine(settings: settings, seed: 1)
    var notices: [LinkMachine.Notice] = []
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    _ = machine.listen(to: LinkTopics(prefixes: [[1]], channels: [[2]]), now: now, &notices)
    for reply in replies {
        for _ in 0..<3 {
            if machine.advance(now: now, &notices) == .open { machine.opened() }
            now = now.advanced(by: .milliseconds(300))
        }
        _ = machine.received(reply, now: now, &notices)
    }
    for case .event(_, let message) in notices { _ = TagEvent(message) }
}
