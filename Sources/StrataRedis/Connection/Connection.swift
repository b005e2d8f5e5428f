internal import Strata
internal import Synchronization

extension [Connection] {
    /// The first that is usable; the first one where none is.
    ///
    /// A client has one at least.
    var firstUsable: Connection { first(where: \.isUsable) ?? self[0] }
}

/// One multiplexed connection as callers see it: every task encodes its command straight into the outgoing buffer and
/// waits for its reply; the I/O thread sends whatever has gathered in one write.
final class Connection: Sendable {
    typealias Promise = CallPromise

    private let usable = Atomic<Bool>(true)
    private let machine: Locked<ConnectionMachine<Promise>>
    private let wakeup: Wakeup

    init(settings: ConnectionSettings, wakeup: Wakeup, seed: UInt64) {
        machine = Locked(ConnectionMachine(settings: settings, seed: seed))
        self.wakeup = wakeup
    }

    /// Whether it stands, or was never needed yet; of several connections one that was lost is left out until it stands
    /// again.
    var isUsable: Bool { usable.load(ordering: .relaxed) }

    /// Notes that it stands, or was lost.
    func note(isUsable: Bool) { usable.store(isUsable, ordering: .relaxed) }

    /// Sends a command and waits for its reply.
    ///
    /// A cancelled call returns at once; its command may have been sent, its reply is dropped when it comes.
    ///
    /// - Parameters:
    ///   - deadline: When to give up, with ``RedisError/Code/timeout``.
    ///   - expected: What kinds of replies the command has.
    ///   - asking: Whether ASKING is sent before it.
    ///   - encode: Writes the command. It runs under the connection's lock.
    /// - Returns: The reply, which may be an error of the server.
    /// - Throws: ``RedisError``, or `CancellationError`.
    @inline(__always)
    func call(
        deadline: MonotonicInstant,
        expecting expected: ReplyKinds = .any,
        asking: Bool = false,
        encode: (inout CommandWriter) -> Void
    ) async throws -> RESPValue {
        // Zero until the call has its number. A cancellation that comes earlier finds nothing to do here; the caller
        // looks for it once the number is stored, so one of the two always sees the other.
        let number = Atomic<UInt64>(0)
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                switch submit(.task(continuation), deadline: deadline, expected, asking: asking, encode: encode) {
                case .success(let assigned):
                    number.store(assigned, ordering: .sequentiallyConsistent)
                    wakeup.signal()
                    if Task.isCancelled { abandon(assigned) }
                case .failure(let error): continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            let assigned = number.load(ordering: .sequentiallyConsistent)
            if assigned != 0 { abandon(assigned) }
        }
    }

    /// Sends a command without waiting for its reply.
    ///
    /// - Parameters:
    ///   - deadline: When to give up.
    ///   - expected: What kinds of replies the command has.
    ///   - completion: Called once with the outcome: on the I/O thread, or here when the call is refused.
    ///   - encode: Writes the command.
    func post(
        deadline: MonotonicInstant,
        expecting expected: ReplyKinds = .any,
        completion: @escaping @Sendable (Result<RESPValue, RedisError>) -> Void,
        encode: (inout CommandWriter) -> Void
    ) {
        switch submit(.callback(completion), deadline: deadline, expected, encode: encode) {
        case .success: wakeup.signal()
        case .failure(let error): completion(.failure(error))
        }
    }

    /// Logs in with the credentials that are in force now, between two calls; one that does not stand is made without
    /// waiting any longer, for it may be what the old ones have kept from standing.
    ///
    /// - Parameters:
    ///   - deadline: When to give up.
    ///   - completion: Called once with what went wrong, if anything did.
    func logIn(deadline: MonotonicInstant, completion: @escaping @Sendable (RedisError?) -> Void) {
        let settings = machine.withLock { $0.settings }
        let promise = Promise.callback { [self] outcome in
            switch outcome {
            case .success(let reply):
                completion(settings.handshake.failure(of: .authenticate, reply, endpoint: settings.endpoint))
            case .failure(let error): completion(refusesLogin(error) ? error : nil)
            }
        }
        let outcome = machine.withLock { machine -> Result<Bool, RedisError> in
            do throws(RedisError) {
                return .success(try machine.submitLogin(promise, deadline: deadline, now: .now))
            } catch {
                return .failure(error)
            }
        }
        wakeup.signal()
        switch outcome {
        case .success(true): break
        case .success(false): completion(nil)
        case .failure(let error): completion(error)
        }
    }

    /// Whether a call that failed so says that the credentials in force will not do; otherwise the next connection
    /// begins with them.
    private func refusesLogin(_ error: RedisError) -> Bool {
        switch error.code {
        case .timeout, .protocolViolation, .shutDown: true
        // That of a handshake, which may have logged in with those before.
        case .authentication: !machine.withLock { $0.isLoginOutdated }
        default: false
        }
    }

    @inline(__always)
    private func submit(
        _ promise: Promise,
        deadline: MonotonicInstant,
        _ expected: ReplyKinds,
        asking: Bool = false,
        encode: (inout CommandWriter) -> Void
    ) -> Result<UInt64, RedisError> {
        machine.withLock { machine in
            do throws(RedisError) {
                if asking {
                    let now = MonotonicInstant.coarse
                    return .success(
                        try machine.submitAsking(
                            promise,
                            deadline: deadline,
                            now: now,
                            expecting: expected,
                            encode: encode
                        )
                    )
                }
                return .success(
                    try machine.submit(
                        promise,
                        deadline: deadline,
                        now: .coarse,
                        isOwn: promise.isOwn,
                        expecting: expected,
                        encode: encode
                    )
                )
            } catch {
                return .failure(error)
            }
        }
    }

    private func abandon(_ number: UInt64) {
        let promise = machine.withLock { $0.abandon(number) }
        if case .task(let continuation) = promise { continuation.resume(throwing: CancellationError()) }
    }

    /// Replies that are owed; a hint for spreading calls.
    var inFlight: Int { machine.withLock { $0.inFlight } }

    /// For the I/O thread: runs a step of the state machine under the lock.
    ///
    /// Effects belong after it.
    @inline(__always)
    func withMachine<Result>(_ body: (inout ConnectionMachine<Promise>) -> Result) -> Result {
        machine.withLock { body(&$0) }
    }

    /// Since when the connection stands, which tells it from those before and after; `nil` while it does not.
    var standsSince: MonotonicInstant? { machine.withLock { $0.phase == .ready ? $0.readySince : nil } }

    /// When a reply was last read that the server had taken long for.
    var slowReplyAt: MonotonicInstant { machine.withLock { $0.health.slowReplyAt } }

    /// Gives the connection up, and makes another.
    func condemn(_ error: RedisError) {
        machine.withLock { $0.condemn(error) }
        wakeup.signal()
    }

    /// Accepts no more calls, finishes what is under way, and closes at `deadline` at the latest.
    func drain(until deadline: MonotonicInstant) {
        machine.withLock { $0.drain(until: deadline) }
        wakeup.signal()
    }
}
