internal import Strata

extension ConnectionMachine {
    /// Bytes arrived.
    ///
    /// - Parameters:
    ///   - replies: Those that are whole now.
    ///   - bytes: How many bytes arrived.
    ///   - unsent: How many of the bytes taken the system has not accepted yet.
    ///   - now: The time.
    ///   - completions: Gets the calls that are over.
    /// - Returns: `close` when the stream cannot be trusted any more.
    mutating func received(
        _ replies: inout [RESPValue],
        bytes: Int,
        unsent: Int,
        now: MonotonicInstant,
        _ completions: inout [Completion]
    ) -> Action? {
        guard phase == .handshaking || phase == .ready else { return nil }
        health.arrived(bytes, at: now, wereOwed: !slots.isEmpty)
        var first = 0
        while phase == .handshaking, first < replies.count {
            if let failure = answerHandshake(with: replies[first], now: now) {
                fail(failure, unsent: 0, now: now, &completions)
                return .close
            }
            first += 1
        }
        guard isOwed(replies.count - first, unsent: unsent) else {
            return distrust("the server sent a reply that nobody asked for", unsent: unsent, now: now, &completions)
        }
        guard first < replies.count else { return nil }
        if !slots.isEmpty { health.answering(slots[0].start, at: now, slowAfter: settings.slowReply) }
        guard let flaw = take(replies[first...], now: now, &completions) else { return nil }
        return distrust(flaw, unsent: unsent, now: now, &completions)
    }

    private mutating func distrust(
        _ message: String,
        unsent: Int,
        now: MonotonicInstant,
        _ completions: inout [Completion]
    ) -> Action {
        let error = RedisError(code: .protocolViolation, message: message, endpoint: settings.endpoint)
        fail(error, unsent: unsent, now: now, &completions)
        return .close
    }

    /// Hands replies to the calls at the head.
    ///
    /// - Returns: Why the stream cannot be trusted, if so.
    private mutating func take(
        _ replies: ArraySlice<RESPValue>,
        now: MonotonicInstant,
        _ completions: inout [Completion]
    ) -> String? {
        for index in replies.indices {
            guard order.isUnderWay else {
                guard answer(with: replies[index], now: now, &completions) else { return Self.otherKind }
                continue
            }
            let position = order.held.count
            switch order.step(replies[index], for: headNumber + UInt64(position)) {
            case .pass: guard answer(with: replies[index], now: now, &completions) else { return Self.otherKind }
            case .hold: guard slots[position].expected.admit(replies[index]) else { return Self.otherKind }
            case .confirmed(let held):
                for reply in held { guard answer(with: reply, now: now, &completions) else { return Self.otherKind } }
                _ = answer(with: replies[index], now: now, &completions)
                if order.needsAnother { beginCheck(holding: true, now: now) }
            case .outOfOrder: return "replies are not in the order of their commands"
            }
        }
        return nil
    }

    private static var otherKind: String { "a command was answered with the wrong type" }

    /// Hands a reply to the call at the head.
    ///
    /// - Returns: False when its command cannot have such a reply.
    @inline(__always)
    private mutating func answer(
        with reply: RESPValue,
        now: MonotonicInstant,
        _ completions: inout [Completion]
    ) -> Bool {
        guard !slots.isEmpty, slots[0].expected.admit(reply), let slot = slots.popFirst() else { return false }
        headNumber += 1
        if slot.promise != nil || slot.since.nanoseconds(to: now) <= settings.healthWindow { health.begin(at: now) }
        if let promise = slot.promise { completions.append((promise, .success(reply))) }
        return true
    }

    /// Whether so many replies are owed to commands of which something was sent.
    ///
    /// A reply that comes before its command is an answer to nothing, and would be a stranger's value. The first byte
    /// is enough: a server may refuse a command before it has read all of it.
    private func isOwed(_ count: Int, unsent: Int) -> Bool {
        let last = order.held.count + count
        return count == 0 || last <= slots.count && slots[last - 1].start < sentBytes(unsent: unsent)
    }

    /// Whether the reply at a place among those to come may be larger than ordinary.
    func mayBeLarge(at index: Int) -> Bool {
        let pending = phase == .handshaking ? handshakeSteps.count - handshakeAnswered : 0
        let position = order.held.count + index - pending
        return slots.indices.contains(position) && slots[position].expected.contains(.large)
    }

    func sentBytes(unsent: Int) -> UInt64 {
        takenBytes - min(takenBytes, UInt64(unsent))
    }

    private mutating func answerHandshake(with reply: RESPValue, now: MonotonicInstant) -> RedisError? {
        let step = handshakeSteps[handshakeAnswered]
        let failure = settings.handshake.failure(of: step, reply, endpoint: peer, isNamed: isNamed)
        guard failure == nil else { return failure }
        note(settings.handshake.remark(on: step, reply))
        if step == .track { tracking.answered(by: reply, to: tracking.asked) }
        handshakeAnswered += 1
        if handshakeAnswered == handshakeSteps.count {
            phase = .ready
            phaseDeadline = drainDeadline
            readySince = now
            health.begin(at: now)
            order.begin(at: now)
            hasFailed = false
            lastError = nil
        }
        return nil
    }
}
