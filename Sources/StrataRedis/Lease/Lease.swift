internal import Strata

/// The right to fetch a key, held at the server under a random token and for a short time.
struct Lease: Sendable {
    /// The answer to a reader that finds no value.
    enum Answer: Sendable {
        /// The value is there by now.
        case value([UInt8])
        /// The caller fetches and ends the lease; the number of failures in a row before.
        case leads(Lease, failures: Int)
        /// Another instance fetches; its lease stands for this long.
        case waits(Duration, holder: Holder)
        /// The last fetch failed, and must not be tried again for this long.
        case failed(String, retryAfter: Duration)
    }

    /// The instance that fetches, as it has told of itself.
    struct Holder: Sendable, Hashable {
        /// Its name.
        var name = ""
        /// The span of its read; `nil` for one that is not traced.
        var traceParent: TraceParent?
        /// What tells its lease from others of the same holder.
        var token: [UInt8] = []
    }

    /// Which answers satisfy a caller that asks for the lease.
    enum Mode: Sendable {
        /// A value other than the one to replace, and a failure that must not be tried again yet.
        case ordinary
        /// Only such a failure.
        case beside
        /// Neither: the caller wants the lease itself.
        case exclusive
    }

    /// The outcome of storing a fetched value.
    ///
    /// Each outcome ends the lease.
    enum StoreOutcome: Sendable {
        case stored
        /// The lease was gone: the fetched value may be older than a change.
        case leaseLost
        /// Another program has changed the value: the fetched value may be older.
        case changedMeanwhile
        /// The server has no memory for the value.
        case outOfMemory

        /// Why nothing was stored.
        var refusal: ReadTrace.Reason? {
            switch self {
            case .stored: nil
            case .leaseLost: .leaseLost
            case .changedMeanwhile: .changedMeanwhile
            case .outOfMemory: .outOfMemory
            }
        }
    }

    /// How a lease ends.
    enum Ending: Sendable {
        /// Without a value, so that others need not wait for it to run out.
        case withoutValue
        /// With a failure, which all waiting callers get.
        case failure(String, attempts: Int, backOff: Duration)
        /// The server has ended it already.
        case ended
    }

    /// How long a failure is remembered beyond its back-off, so that the next one doubles it.
    static let failureMemory: Duration = .seconds(60)
    /// The longest back-off; a record with a longer time to live is not a failure of this library.
    static let longestBackOff: Duration = .seconds(3600)
    /// The longest lease that is believed where it stands longer than this instance's own would.
    static let longestForeignLease: Duration = .seconds(60)

    let redis: RedisClient
    let keyspace: Keyspace
    let names: KeyNames
    let duration: Duration
    /// Taken before the lease was asked for; the lease ends at this instant plus its duration, as far as this process
    /// knows.
    let grantedAt: MonotonicInstant
    /// The same by the cache's clock, as the times of entries.
    let askedAt: MonotonicInstant
    private var record: [UInt8]
    /// What tells it from others.
    var token: [UInt8] {
        guard case .held(let token, _, _) = LeaseRecord(record) else { return [] }
        return token
    }
    /// The header of the value when the lease was granted; `nil` for no value.
    private(set) var replacedHeader: [UInt8]?

    /// Reads the value, or takes the lease.
    ///
    /// One round trip; another one when the connection ends on the way. A caller that gets the lease ends it: see
    /// ``held(upTo:lost:while:)``.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - keyspace: The keyspace of the key.
    ///   - names: The names of value and lease.
    ///   - duration: How long the lease stands without being renewed.
    ///   - stamp: The version stamp of the value to replace; `nil` for none.
    ///   - mode: Which answers satisfy the caller.
    ///   - traceParent: The span of the caller's read, for the others that wait.
    /// - Returns: The value, the lease, that another instance holds it, or that the last fetch failed.
    /// - Throws: ``RedisError``; `CancellationError`.
    static func readOrLead(
        _ redis: RedisClient,
        _ keyspace: Keyspace,
        _ names: KeyNames,
        duration: Duration,
        replacing stamp: [UInt8]?,
        _ mode: Mode = .ordinary,
        traceParent: TraceParent? = nil
    ) async throws -> Answer {
        func record() -> [UInt8] {
            LeaseRecord.new(holder: redis.configuration.instanceName, traceParent: traceParent).bytes
        }
        let now = MonotonicInstant.now
        var lease = Lease(
            redis: redis,
            keyspace: keyspace,
            names: names,
            duration: duration,
            grantedAt: now,
            askedAt: redis.clock.now(at: now),
            record: record()
        )
        let memory = mode == .exclusive ? longestBackOff + failureMemory : failureMemory
        // The same for both commands, so that the second cannot overtake the first.
        let connection = redis.orderedConnection(for: names.value)
        let reply: RESPValue
        do {
            let terms = [
                milliseconds(duration),
                Array((mode != .ordinary ? "always" : stamp == nil ? "miss" : "refresh").utf8),
                milliseconds(memory), stamp ?? [],
                milliseconds(max(duration, longestForeignLease)), milliseconds(longestBackOff + failureMemory),
            ]
            reply = try await redis.guarded(.lease, for: names.value) { timeout in
                let end = MonotonicInstant.now.advanced(by: timeout)
                do {
                    return try await lease.ask(terms, timeout, on: connection)
                } catch let error as RedisError where error.code == .connectionLost && error.effect == .ambiguous {
                    let left = MonotonicInstant.now.duration(to: end)
                    guard left > .zero else { throw error }
                    // What was sent may still be on its way, and arrive after a removal has ended the lease: it would
                    // bring it back. So another record is asked for, behind the end of the first.
                    lease.postEnd(on: connection)
                    lease.record = record()
                    return try await lease.ask(terms, left, on: connection)
                }
            }
        } catch {
            // The lease may be granted to a caller that has left; others would wait until it runs out.
            if (error as? RedisError)?.effect != .notApplied { lease.postEnd(on: connection) }
            throw error
        }
        guard case .array(let parts) = reply, parts.count == 4, let answer = parts[0].integer else {
            throw redis.unexpected("read-or-lead")
        }
        let left = min(max(.zero, .milliseconds(parts[2].integer ?? 0)), longestBackOff)
        let other = parts[3].bytes.flatMap { LeaseRecord($0) }
        switch (answer, other) {
        case (1, _):
            guard let bytes = parts[1].bytes else { throw redis.unexpected("read-or-lead") }
            return .value(bytes)
        case (2, let other):
            lease.replacedHeader = parts[1].bytes
            if case .failed(let attempts, _) = other { return .leads(lease, failures: attempts) }
            return .leads(lease, failures: 0)
        case (4, .failed(_, let message)): return .failed(printable(message), retryAfter: left)
        case (3, .held(let token, let holder, let traceParent)):
            let holder = Holder(name: printable(holder), traceParent: traceParent, token: token)
            return .waits(left, holder: holder)
        // Another program's, or a newer release's.
        case (3, nil) where parts[3].bytes?.isEmpty == false: return .waits(left, holder: Holder())
        default: throw redis.unexpected("read-or-lead")
        }
    }

    private func ask(_ terms: [[UInt8]], _ timeout: Duration, on connection: Connection?) async throws -> RESPValue {
        try await redis.run(
            LeaseScripts.readOrLead,
            keys: [names.value, names.lease],
            arguments: [record] + terms,
            repetition: .once,
            timeout: timeout,
            on: connection
        )
    }

    /// Any user who may write to the server can put text there.
    private static func printable(_ text: String) -> String { PrintableText.escape(Array(text.utf8)) }

    /// Extends the lease.
    ///
    /// One round trip.
    ///
    /// - Returns: False when it is gone.
    func renew() async throws -> Bool {
        let reply = try await run(LeaseScripts.renew, [Self.milliseconds(duration)], repetition: .repeatable)
        return reply.integer == 1
    }

    /// Stores a value if the lease still stands and the stored value has not changed, and ends the lease.
    ///
    /// One round trip.
    func store(_ bytes: [UInt8], expiry: [UInt8]) async throws -> StoreOutcome {
        let stamp = replacedHeader.map { Envelope.stamp(of: $0) }
        let replaced = stamp.map { $0.isEmpty ? Array("none".utf8) : $0 } ?? []
        return try await outcome(of: LeaseScripts.storeIfLeader, [bytes, expiry, replaced])
    }

    /// Makes the stored value fresh again if the lease still stands, and ends the lease.
    ///
    /// One round trip; the payload stays where it is.
    ///
    /// - Parameters:
    ///   - header: The new header.
    ///   - expiry: In how many milliseconds the value is dropped.
    ///   - stamp: The version stamp of this value; with another one, or none, nothing is written.
    /// - Returns: The outcome.
    /// - Throws: ``RedisError``; `CancellationError`.
    func extend(_ header: [UInt8], expiry: [UInt8], replacing stamp: [UInt8]) async throws -> StoreOutcome {
        try await outcome(of: LeaseScripts.extendIfLeader, [header, expiry, stamp])
    }

    private func outcome(of script: RedisScript, _ arguments: [[UInt8]]) async throws -> StoreOutcome {
        let reply = try await run(script, arguments + news, role: .write, repetition: .once)
        return switch reply.integer {
        case 1: .stored
        case -1: .outOfMemory
        case -2: .changedMeanwhile
        default: .leaseLost
        }
    }

    /// The channel and the message that wake waiting callers.
    private var news: [[UInt8]] { [keyspace.events, KeyspaceEvent.ended.message(for: names)] }

    /// Ends the lease, also when the task is cancelled.
    ///
    /// One round trip, for which a cancelled task does not wait.
    func end(_ ending: Ending) async {
        let script: RedisScript
        var arguments: [[UInt8]] = []
        switch ending {
        case .ended: return
        case .withoutValue: script = LeaseScripts.endWithoutValue
        case .failure(let message, let attempts, let backOff):
            script = LeaseScripts.endWithFailure
            arguments = [
                LeaseRecord.failed(attempts: attempts, message: message).bytes,
                Self.milliseconds(min(backOff, Self.longestBackOff) + Self.failureMemory),
            ]
        }
        arguments += news
        if !Task.isCancelled {
            do {
                _ = try await run(script, arguments, repetition: .repeatable)
                return
            } catch {}
        }
        post(script, arguments, on: redis.orderedConnection(for: names.value))
    }

    /// Ends the lease without a value, and waits for nothing.
    func leave() { postEnd(on: redis.orderedConnection(for: names.value)) }

    private func postEnd(on connection: Connection?) {
        post(LeaseScripts.endWithoutValue, news, on: connection)
    }

    private func post(_ script: RedisScript, _ arguments: [[UInt8]], on connection: Connection?) {
        // After that it has run out by itself.
        post(script, arguments, on: connection, until: MonotonicInstant.coarse.advanced(by: duration))
    }

    /// Runs a script without waiting, by its text: no caller would be left to send the text when the server lacks it.
    ///
    /// A release that is lost with its connection is sent again, `attempts` times in all: a client whose connections
    /// end one after the other refuses calls at once, also with the error of a lost connection.
    private func post(
        _ script: RedisScript,
        _ arguments: [[UInt8]],
        on connection: Connection?,
        until deadline: MonotonicInstant,
        attempts: Int = 3
    ) {
        redis.post(deadline: deadline, slot: HashSlot.of(names.value), on: connection) { outcome in
            guard attempts > 1 else { return }
            switch outcome {
            case .failure(let error) where error.code == .connectionLost:
                post(script, arguments, on: connection, until: deadline, attempts: attempts - 1)
            // The lease has moved with its slot, to where the cluster's map leads by now.
            case .success(.error(let text)) where text.hasPrefix("MOVED") && connection != nil:
                post(script, arguments, on: nil, until: deadline, attempts: attempts - 1)
            default: break
            }
        } encode: { writer in
            RedisClient.encode("EVAL", script.source, [names.value, names.lease], [record] + arguments, &writer)
        }
    }

    private func run(
        _ script: RedisScript,
        _ arguments: [[UInt8]],
        role: RedisRole = .lease,
        repetition: RedisClient.Repetition
    ) async throws -> RESPValue {
        try await redis.guarded(role, for: names.value) { timeout in
            try await redis.run(
                script,
                keys: [names.value, names.lease],
                arguments: [record] + arguments,
                repetition: repetition,
                timeout: timeout
            )
        }
    }

    private static func milliseconds(_ duration: Duration) -> [UInt8] {
        Array(String(max(1, duration.saturatedNanoseconds / 1_000_000)).utf8)
    }
}
