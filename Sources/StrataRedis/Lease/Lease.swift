internal import Strata

/// The right to fetch a key, held at the server under a token and for a short time.
struct Lease: Sendable {
    /// What somebody learns who finds no value.
    enum Answer: Sendable {
        /// The value is there by now.
        case value([UInt8])
        /// The caller is to fetch.
        case leads(Lease)
        /// Somebody else fetches; their lease stands for so long.
        case waits(Duration)
    }

    /// What became of a value that was fetched.
    enum StoreOutcome: Sendable {
        case stored
        /// The lease was gone: the value may be older than an invalidation.
        case refused
        /// The server has no memory for the value. The lease is ended.
        case outOfMemory
    }

    let redis: RedisClient
    let keyspace: Keyspace
    let names: KeyNames
    let token: LeaseToken
    let duration: Duration
    /// When the lease ends at the latest as far as this process knows: counted from before it was asked for.
    let grantedAt: MonotonicInstant

    /// Reads the value, or becomes the one who fetches it.
    ///
    /// One round trip.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - keyspace: The keyspace of the key.
    ///   - names: The names of value and lease.
    ///   - duration: How long the lease stands without being renewed.
    ///   - refreshing: Whether to fetch although there is a value.
    /// - Returns: The value, the lease, or that somebody else holds it.
    /// - Throws: ``RedisError``; `CancellationError`.
    static func readOrLead(
        _ redis: RedisClient,
        _ keyspace: Keyspace,
        _ names: KeyNames,
        duration: Duration,
        refreshing: Bool
    ) async throws -> Answer {
        let token = LeaseToken()
        let asked = MonotonicInstant.now
        let reply = try await redis.run(
            LeaseScripts.readOrLead,
            keys: [names.value, names.lease],
            arguments: [token.bytes, milliseconds(duration), Array((refreshing ? "refresh" : "miss").utf8)],
            repetition: .repeatable
        )
        guard case .array(let parts) = reply, parts.count == 3, let answer = parts[0].integer else {
            throw redis.unexpected("read-or-lead")
        }
        switch answer {
        case 1:
            guard let bytes = parts[1].bytes else { throw redis.unexpected("read-or-lead") }
            return .value(bytes)
        case 2:
            return .leads(
                Lease(
                    redis: redis,
                    keyspace: keyspace,
                    names: names,
                    token: token,
                    duration: duration,
                    grantedAt: asked
                )
            )
        default: return .waits(.milliseconds(max(0, parts[2].integer ?? 0)))
        }
    }

    /// Extends the lease.
    ///
    /// One round trip.
    ///
    /// - Returns: False when it is gone.
    func renew() async throws -> Bool {
        let reply = try await redis.run(
            LeaseScripts.renew,
            keys: [names.value, names.lease],
            arguments: [token.bytes, Self.milliseconds(duration)],
            repetition: .repeatable
        )
        return reply.integer == 1
    }

    /// Stores a value if the lease still stands, and ends it.
    ///
    /// One round trip.
    func store(_ bytes: [UInt8], expiry: [UInt8]) async throws -> StoreOutcome {
        let reply = try await redis.run(
            LeaseScripts.storeIfLeader,
            keys: [names.value, names.lease],
            arguments: [token.bytes, bytes, expiry],
            repetition: .once
        )
        return switch reply.integer {
        case 1: .stored
        case -1: .outOfMemory
        default: .refused
        }
    }

    /// Ends the lease without a value, so that others need not wait for it to run out.
    ///
    /// One round trip.
    func end() async throws {
        _ = try await redis.run(
            LeaseScripts.endWithoutValue,
            keys: [names.value, names.lease],
            arguments: [token.bytes, keyspace.events, KeyspaceEvent.ended.message(for: names)],
            repetition: .repeatable
        )
    }

    /// Keeps the lease for as long as `body` runs, up to `limit`; it is not ended here.
    ///
    /// Each renewal is timed from the deadline that the one before has bought, and counted from before it was sent, so a
    /// slow wake-up does not push the next one out. A failed renewal is tried again while the lease can still stand.
    func held<Result: Sendable>(
        upTo limit: Duration,
        while body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                await keepRenewing(until: grantedAt.advanced(by: limit))
                return nil
            }
            defer { group.cancelAll() }
            while let finished = try await group.next() {
                if let result = finished { return result }
            }
            throw CancellationError()
        }
    }

    private func keepRenewing(until limit: MonotonicInstant) async {
        var expiry = grantedAt.advanced(by: duration)
        while !Task.isCancelled {
            let wait = MonotonicInstant.now.duration(to: expiry.advanced(by: duration * (-2.0 / 3)))
            guard (try? await Task.sleep(for: max(wait, duration / 20))) != nil, .now < limit, .now < expiry else {
                return
            }
            let sent = MonotonicInstant.now
            switch try? await renew() {
            case true: expiry = sent.advanced(by: duration)
            case false: return
            case nil: continue
            }
        }
    }

    private static func milliseconds(_ duration: Duration) -> [UInt8] {
        Array(String(max(1, duration.saturatedNanoseconds / 1_000_000)).utf8)
    }
}
