internal import Strata

/// The right to fetch a key, held at the server under a random token and for a short time.
struct Lease: Sendable {
    /// What somebody learns who finds no value.
    enum Answer: Sendable {
        /// The value is there by now.
        case value([UInt8])
        /// The caller is to fetch; so many fetches have failed in a row before.
        case leads(Lease, failures: Int)
        /// Somebody else fetches; their lease stands for so long.
        case waits(Duration, holder: String)
        /// The last fetch has failed, and is not to be tried again for so long.
        case failed(String, retryAfter: Duration)
    }

    /// What became of a value that was fetched.
    enum StoreOutcome: Sendable {
        case stored
        /// The lease was gone, or the value was changed in spite of it: what was fetched may be older than that.
        case refused
        /// The server has no memory for the value. The lease is ended.
        case outOfMemory
    }

    /// For how long a failure is remembered beyond its back-off, so that the next one doubles it.
    private static let failureMemory: Duration = .seconds(60)

    let redis: RedisClient
    let keyspace: Keyspace
    let names: KeyNames
    let duration: Duration
    /// From before the lease was asked for: as far as this process knows it ends that plus its duration.
    let grantedAt: MonotonicInstant
    private let record: [UInt8]
    /// What the store compares with to see whether somebody has changed the value since the lease was given.
    private var replaced: [UInt8] = []

    /// Reads the value, or becomes the one who fetches it.
    ///
    /// One round trip.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - keyspace: The keyspace of the key.
    ///   - names: The names of value and lease.
    ///   - duration: How long the lease stands without being renewed.
    ///   - stamp: The version stamp of the value that is to be replaced; `nil` when there is none.
    /// - Returns: The value, the lease, that somebody else holds it, or that the last fetch has failed.
    /// - Throws: ``RedisError``; `CancellationError`.
    static func readOrLead(
        _ redis: RedisClient,
        _ keyspace: Keyspace,
        _ names: KeyNames,
        duration: Duration,
        replacing stamp: [UInt8]?
    ) async throws -> Answer {
        var lease = Lease(
            redis: redis,
            keyspace: keyspace,
            names: names,
            duration: duration,
            grantedAt: .now,
            record: LeaseRecord.new(holder: redis.configuration.instanceName).bytes
        )
        let reply: RESPValue
        do {
            reply = try await redis.guarded(.lease) { [record = lease.record] timeout in
                try await redis.run(
                    LeaseScripts.readOrLead,
                    keys: [names.value, names.lease],
                    arguments: [
                        record, milliseconds(duration), Array((stamp == nil ? "miss" : "refresh").utf8),
                        milliseconds(failureMemory), stamp ?? [],
                    ],
                    repetition: .repeatable,
                    timeout: timeout
                )
            }
        } catch let error as CancellationError {
            // The lease may be given to a caller who has left; others would wait for it to run out.
            try? await lease.end()
            throw error
        }
        guard case .array(let parts) = reply, parts.count == 4, let answer = parts[0].integer else {
            throw redis.unexpected("read-or-lead")
        }
        let left = Duration.milliseconds(max(0, parts[2].integer ?? 0))
        let other = parts[3].bytes.flatMap { LeaseRecord($0) }
        switch (answer, other) {
        case (1, _):
            guard let bytes = parts[1].bytes else { throw redis.unexpected("read-or-lead") }
            return .value(bytes)
        case (2, let other):
            var failures = 0
            if case .failed(let attempts, _) = other { failures = attempts }
            if let bytes = parts[1].bytes {
                let stamp = Envelope.stamp(of: bytes)
                lease.replaced = stamp.isEmpty ? Array("none".utf8) : stamp
            }
            return .leads(lease, failures: failures)
        case (4, .failed(_, let message)): return .failed(message, retryAfter: left)
        case (_, .held(_, let holder)): return .waits(left, holder: holder)
        default: return .waits(left, holder: "")
        }
    }

    /// Extends the lease.
    ///
    /// One round trip.
    ///
    /// - Returns: False when it is gone.
    func renew() async throws -> Bool {
        let reply = try await run(LeaseScripts.renew, Self.milliseconds(duration), repetition: .repeatable)
        return reply.integer == 1
    }

    /// Stores a value if the lease still stands and nobody has changed the value meanwhile, and ends the lease.
    ///
    /// One round trip; two when it cannot be stored.
    func store(_ bytes: [UInt8], expiry: [UInt8]) async throws -> StoreOutcome {
        try await settle(run(LeaseScripts.storeIfLeader, bytes, expiry, replaced, role: .write, repetition: .once))
    }

    /// Makes the value that lies there fresh again, if the lease still stands, and ends the lease.
    ///
    /// One round trip, two when that is refused; the payload stays where it is.
    ///
    /// - Parameters:
    ///   - header: The new header.
    ///   - expiry: In how many milliseconds the value is dropped.
    ///   - stamp: The version of the value that is meant; with another one, or none, nothing is written.
    /// - Returns: What became of it.
    /// - Throws: ``RedisError``; `CancellationError`.
    func extend(_ header: [UInt8], expiry: [UInt8], replacing stamp: [UInt8]) async throws -> StoreOutcome {
        try await settle(run(LeaseScripts.extendIfLeader, header, expiry, stamp, role: .write, repetition: .once))
    }

    private func settle(_ reply: RESPValue) async throws -> StoreOutcome {
        switch reply.integer {
        case 1: return .stored
        case 0: return .refused
        case let outcome:
            // Those who wait are told, or they would wait for the lease to run out.
            try? await end()
            return outcome == -1 ? .outOfMemory : .refused
        }
    }

    /// Ends the lease without a value, so that others need not wait for it to run out.
    ///
    /// One round trip.
    func end() async throws {
        _ = try await run(
            LeaseScripts.endWithoutValue,
            keyspace.events,
            KeyspaceEvent.ended.message(for: names),
            repetition: .repeatable
        )
    }

    /// Ends the lease with a failure that all who wait share.
    ///
    /// One round trip.
    func end(failing message: String, attempts: Int, backOff: Duration) async throws {
        _ = try await run(
            LeaseScripts.endWithFailure,
            LeaseRecord.failed(attempts: attempts, message: message).bytes,
            Self.milliseconds(backOff + Self.failureMemory),
            keyspace.events,
            KeyspaceEvent.ended.message(for: names),
            repetition: .repeatable
        )
    }

    private func run(
        _ script: RedisScript,
        _ arguments: [UInt8]...,
        role: RedisRole = .lease,
        repetition: RedisClient.Repetition
    ) async throws -> RESPValue {
        try await redis.guarded(role) { timeout in
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
