internal import Strata

/// The right to fetch a key, held at the server under a random token and for a short time.
struct Lease: Sendable {
    /// What somebody learns who finds no value.
    enum Answer: Sendable {
        /// The value is there by now.
        case value([UInt8])
        /// The caller is to fetch, and to end the lease; so many fetches have failed in a row before.
        case leads(Lease, failures: Int)
        /// Somebody else fetches; their lease stands for so long.
        case waits(Duration, holder: String)
        /// The last fetch has failed, and is not to be tried again for so long.
        case failed(String, retryAfter: Duration)
    }

    /// What is an answer to who asks for the lease.
    enum Mode: Sendable {
        /// Another value than the one that is to be replaced, and a failure that is not to be tried again.
        case ordinary
        /// Only the failure.
        case beside
        /// Neither: the lease itself is wanted.
        case exclusive
    }

    /// What became of a value that was fetched.
    ///
    /// Whatever it is, the lease is ended.
    enum StoreOutcome: Sendable {
        case stored
        /// The lease was gone, or the value was changed in spite of it: what was fetched may be older than that.
        case refused
        /// The server has no memory for the value.
        case outOfMemory
    }

    /// How a lease is to be ended.
    enum Ending: Sendable {
        /// Without a value, so that others need not wait for it to run out.
        case withoutValue
        /// With a failure that all who wait share.
        case failure(String, attempts: Int, backOff: Duration)
        /// The server has ended it already.
        case ended
    }

    /// For how long a failure is remembered beyond its back-off, so that the next one doubles it.
    private static let failureMemory: Duration = .seconds(60)
    /// The longest back-off; what lies there for longer is no failure that this library has remembered.
    static let longestBackOff: Duration = .seconds(3600)
    /// For how long a lease is believed that stands for longer than this instance's would.
    private static let longestForeignLease: Duration = .seconds(60)

    let redis: RedisClient
    let keyspace: Keyspace
    let names: KeyNames
    let duration: Duration
    /// From before the lease was asked for: as far as this process knows it ends that plus its duration.
    let grantedAt: MonotonicInstant
    private let record: [UInt8]
    /// The header of what lay there when the lease was given; `nil` for nothing.
    private(set) var replacedHeader: [UInt8]?

    /// Reads the value, or becomes the one who fetches it.
    ///
    /// One round trip. Whoever leads ends the lease: see ``held(upTo:lost:while:)``.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - keyspace: The keyspace of the key.
    ///   - names: The names of value and lease.
    ///   - duration: How long the lease stands without being renewed.
    ///   - stamp: The version stamp of the value that is to be replaced; `nil` when there is none.
    ///   - mode: What is an answer.
    /// - Returns: The value, the lease, that somebody else holds it, or that the last fetch has failed.
    /// - Throws: ``RedisError``; `CancellationError`.
    static func readOrLead(
        _ redis: RedisClient,
        _ keyspace: Keyspace,
        _ names: KeyNames,
        duration: Duration,
        replacing stamp: [UInt8]?,
        _ mode: Mode = .ordinary
    ) async throws -> Answer {
        var lease = Lease(
            redis: redis,
            keyspace: keyspace,
            names: names,
            duration: duration,
            grantedAt: .now,
            record: LeaseRecord.new(holder: redis.configuration.instanceName).bytes
        )
        let memory = mode == .exclusive ? longestBackOff + failureMemory : failureMemory
        // The same for both commands, so that the second cannot overtake the first.
        let connection = redis.orderedConnection(for: names.value)
        let reply: RESPValue
        do {
            reply = try await redis.guarded(.lease, for: names.value) { [record = lease.record] timeout in
                try await redis.run(
                    LeaseScripts.readOrLead,
                    keys: [names.value, names.lease],
                    arguments: [
                        record, milliseconds(duration),
                        Array((mode != .ordinary ? "always" : stamp == nil ? "miss" : "refresh").utf8),
                        milliseconds(memory), stamp ?? [],
                        milliseconds(max(duration, longestForeignLease)), milliseconds(longestBackOff + failureMemory),
                    ],
                    repetition: .repeatable,
                    timeout: timeout,
                    on: connection
                )
            }
        } catch {
            // The lease may be given to a caller who has left or given up; others would wait for it to run out.
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
        case (_, .held(_, let holder)): return .waits(left, holder: printable(holder))
        default: return .waits(left, holder: "")
        }
    }

    /// Whoever can write to the server can put text there.
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

    /// Stores a value if the lease still stands and nobody has changed the value meanwhile, and ends the lease.
    ///
    /// One round trip.
    func store(_ bytes: [UInt8], expiry: [UInt8]) async throws -> StoreOutcome {
        let stamp = replacedHeader.map { Envelope.stamp(of: $0) }
        let replaced = stamp.map { $0.isEmpty ? Array("none".utf8) : $0 } ?? []
        return try await outcome(of: LeaseScripts.storeIfLeader, [bytes, expiry, replaced])
    }

    /// Makes the value that lies there fresh again, if the lease still stands, and ends the lease.
    ///
    /// One round trip; the payload stays where it is.
    ///
    /// - Parameters:
    ///   - header: The new header.
    ///   - expiry: In how many milliseconds the value is dropped.
    ///   - stamp: The version of the value that is meant; with another one, or none, nothing is written.
    /// - Returns: What became of it.
    /// - Throws: ``RedisError``; `CancellationError`.
    func extend(_ header: [UInt8], expiry: [UInt8], replacing stamp: [UInt8]) async throws -> StoreOutcome {
        try await outcome(of: LeaseScripts.extendIfLeader, [header, expiry, stamp])
    }

    private func outcome(of script: RedisScript, _ arguments: [[UInt8]]) async throws -> StoreOutcome {
        let reply = try await run(script, arguments + news, role: .write, repetition: .once)
        return switch reply.integer {
        case 1: .stored
        case -1: .outOfMemory
        default: .refused
        }
    }

    /// Channel and message by which those who wait are told.
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

    private func postEnd(on connection: Connection?) {
        post(LeaseScripts.endWithoutValue, news, on: connection)
    }

    private func post(_ script: RedisScript, _ arguments: [[UInt8]], on connection: Connection?) {
        // Later it has run out by itself.
        post(script, arguments, on: connection, until: MonotonicInstant.coarse.advanced(by: duration))
    }

    /// Runs a script for which nobody waits, by its text: nobody would be there to send that when the server lacks it.
    ///
    /// When the connection is lost it is sent again.
    private func post(
        _ script: RedisScript,
        _ arguments: [[UInt8]],
        on connection: Connection?,
        until deadline: MonotonicInstant
    ) {
        redis.post(deadline: deadline, slot: HashSlot.of(names.value), on: connection) { outcome in
            switch outcome {
            case .failure(let error) where error.code == .connectionLost:
                post(script, arguments, on: connection, until: deadline)
            // The lease has moved with its slot, to where the cluster's map leads by now.
            case .success(.error(let text)) where text.hasPrefix("MOVED") && connection != nil:
                post(script, arguments, on: nil, until: deadline)
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
