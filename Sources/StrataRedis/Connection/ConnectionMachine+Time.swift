internal import Strata

extension ConnectionMachine {
    /// Moves on with time.
    ///
    /// To be called again until it returns `nil`.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - unsent: How many of the bytes taken the system has not accepted yet.
    ///   - completions: Gets the calls that are over.
    /// - Returns: What the owner of the socket has to do.
    mutating func advance(
        now: MonotonicInstant,
        unsent: Int = 0,
        _ completions: inout [Completion]
    ) -> Action? {
        health.look(at: now, areOwed: !slots.isEmpty)
        if phase == .ready {
            health.progressed(to: sentBytes(unsent: unsent), isBacked: unsent > 0, at: now)
        }
        if now >= earliestDeadline { expireCalls(now: now, unsent: unsent, &completions) }
        if draining, slots.isEmpty || now >= drainDeadline, phase != .closed { return close(&completions) }
        if let error = condemnation.take(), phase == .opening || phase == .handshaking || phase == .ready {
            fail(error, unsent: unsent, now: now, &completions)
            return .close
        }
        switch phase {
        case .idle where !slots.isEmpty: return open(now: now)
        case .waiting where now >= phaseDeadline: return open(now: now)
        case .opening where now >= phaseDeadline, .handshaking where now >= phaseDeadline:
            let error = RedisError(
                code: .connectionFailed,
                message: phase == .handshaking
                    ? "connected, but not answered within the connect timeout: the server hangs, or is not Redis"
                    : "no connection within the connect timeout",
                endpoint: settings.endpoint
            )
            fail(error, unsent: 0, now: now, &completions)
            return .close
        case .ready: return watch(now: now, unsent: unsent, &completions)
        default: return nil
        }
    }

    /// When `advance` has to be called at the latest.
    var nextDeadline: MonotonicInstant {
        var next = min(earliestDeadline, drainDeadline)
        switch phase {
        case .opening, .handshaking, .waiting: next = min(next, phaseDeadline)
        case .ready: next = min(next, quietLimit)
        default: break
        }
        return next
    }

    /// When `advance` should be called so that it is known whether this thread is late.
    var nextLook: MonotonicInstant {
        slots.isEmpty ? .distantFuture : health.lastLook.advanced(byNanoseconds: ConnectionHealth.tick)
    }

    /// Until when a ready connection may stay without a sign that it is of use.
    private var quietLimit: MonotonicInstant {
        health.lastSign.advanced(byNanoseconds: slots.isEmpty ? settings.keepalive : settings.healthWindow)
    }

    private mutating func watch(
        now: MonotonicInstant,
        unsent: Int,
        _ completions: inout [Completion]
    ) -> Action? {
        // Also for one call: with a reply too many each call would get the one before, and none would time out.
        if settings.checksOrder, order.isDue(at: now), slots.indices.contains(where: { slots[$0].promise != nil }) {
            beginCheck(holding: false, now: now)
        }
        guard now >= quietLimit else { return nil }
        guard slots.isEmpty else {
            let error = RedisError(
                code: .connectionLost,
                message: "no command was answered within the health window",
                endpoint: settings.endpoint
            )
            fail(error, unsent: unsent, now: now, &completions)
            return .close
        }
        let start = takenBytes + UInt64(outgoing.count)
        outgoing.begin(1)
        outgoing.argument("PING" as StaticString)
        _ = append(
            Slot(promise: nil, expected: .status, deadline: .distantFuture, start: start, since: now),
            now: now
        )
        return nil
    }

    /// Asks the server for something that no call asks it for, and whose reply has to come in its place.
    mutating func beginCheck(holding: Bool, now: MonotonicInstant) {
        let nonce = (0..<2).map { _ in String(random.next(), radix: 16) }.joined(separator: "-")
        let start = takenBytes + UInt64(outgoing.count)
        outgoing.begin(2)
        outgoing.argument("PING" as StaticString)
        outgoing.argument(nonce)
        let number = append(
            Slot(promise: nil, expected: [.bytes, .status], deadline: .distantFuture, start: start, since: now),
            now: now
        )
        order.begin(Array(nonce.utf8), number: number, holding: holding, at: now)
    }

    /// Lets every caller go whose deadline has passed; the slots stay.
    ///
    /// O(calls in flight), at most once a deadline.
    mutating func expireCalls(now: MonotonicInstant, unsent: Int, _ completions: inout [Completion]) {
        earliestDeadline = .distantFuture
        let sent = phase == .ready ? sentBytes(unsent: unsent) : 0
        var doubted: UInt64?
        for position in 0..<slots.count {
            let slot = slots[position]
            guard slot.promise != nil else { continue }
            guard slot.deadline <= now else {
                earliestDeadline = min(earliestDeadline, slot.deadline)
                continue
            }
            guard let promise = slots[position].promise.take() else { continue }
            if slot.start < sent, position >= order.held.count { doubted = headNumber + UInt64(position) }
            let waiting =
                phase == .ready ? "no reply before the call's deadline" : "no connection before the call's deadline"
            // Not sent yet is no promise: the slot stays, and its command goes out with the others.
            var error = RedisError(
                code: .timeout,
                message: waiting,
                endpoint: settings.endpoint,
                effect: .ambiguous
            )
            error.isOwnDelay = isOwnDelay(slot, sent: sent, now: now)
            completions.append((promise, .failure(error)))
        }
        if settings.checksOrder, let doubted, order.doubt(doubted) { beginCheck(holding: true, now: now) }
    }

    /// Whether this process, and not the server, has used up the time of a call.
    private func isOwnDelay(_ slot: Slot, sent: UInt64, now: MonotonicInstant) -> Bool {
        guard phase == .ready else { return health.lateAt >= slot.since }
        guard slot.start < sent, let sentAt = health.timeOfSending(slot.start) else { return true }
        // Half of the time, or it was another's fault already when the server got the command.
        return health.lateAt >= sentAt || sentAt.nanoseconds(to: now) < slot.since.nanoseconds(to: now) / 2
    }
}
