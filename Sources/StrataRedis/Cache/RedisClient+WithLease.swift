internal import Strata
internal import Synchronization

extension RedisClient {
    /// Runs work that one instance of a fleet does at a time.
    ///
    /// ```swift
    /// try await redis.withLease("nightly-report") { lease in
    ///     for page in pages where lease.isHeld { try await write(page) }
    /// }
    /// ```
    ///
    /// The guarantee: among all instances that ask for this name at one primary, at most one runs its work at a time,
    /// as long as the lease is renewed in time and the primary neither loses data nor fails over. This saves work; it
    /// does not guard data. An instance that was stopped for longer than the lease goes on afterwards, although another
    /// may have begun. Work that must not happen twice needs a check where it takes effect.
    ///
    /// Round trips: one to get the lease, one to end it, one for each third of its duration; while another holds it,
    /// one each 5 to 100 ms.
    ///
    /// - Parameters:
    ///   - name: The name of the work.
    ///   - keyspace: The keyspace of the lease. Services that share a server need different ones, or different names.
    ///   - options: How long the lease stands and is renewed, and how long a caller waits for it.
    ///   - body: The work. It is not cancelled when the lease is lost, or runs out after ``LeaseOptions/renewalLimit``;
    ///     ``LeaseStatus/isHeld`` is then false.
    /// - Returns: What the work returns.
    /// - Throws: The error of the work; ``/Strata/CacheError/Code/timeout`` when the lease was not free within
    ///   ``LeaseOptions/waitLimit``; ``RedisError``; `CancellationError`.
    public func withLease<Result: Sendable>(
        _ name: String,
        in keyspace: Keyspace = "leases",
        options: LeaseOptions = LeaseOptions(),
        _ body: @escaping @Sendable (LeaseStatus) async throws -> Result
    ) async throws -> Result {
        // A source that calls this has its own time, and not what is left of the cache's budget.
        try await CallBudget.$current.withValue(nil) {
            try await leased(name, in: keyspace, options: options, body)
        }
    }

    private func leased<Result: Sendable>(
        _ name: String,
        in keyspace: Keyspace,
        options: LeaseOptions,
        _ body: @escaping @Sendable (LeaseStatus) async throws -> Result
    ) async throws -> Result {
        let lease = try await acquire(keyspace.names(for: name.keyBytes), keyspace, options)
        let status = LeaseStatus()
        return try await lease.held(upTo: options.renewalLimit, endsWithClient: false, lost: { status.lose() }) { _ in
            try await body(status)
        }
    }

    private func acquire(_ names: KeyNames, _ keyspace: Keyspace, _ options: LeaseOptions) async throws -> Lease {
        let giveUp = clock.running.advanced(by: options.waitLimit)
        var pause = 5.0
        while true {
            let answer = try await Lease.readOrLead(
                self,
                keyspace,
                names,
                duration: options.duration,
                replacing: nil,
                .exclusive
            )
            if case .leads(let lease, _) = answer { return lease }
            guard clock.running < giveUp else {
                throw CacheError(code: .timeout, message: "the lease was not free within \(options.waitLimit)")
            }
            var wait = Duration.milliseconds(pause * Double.random(in: 0.5...1))
            if case .waits(let remaining, _) = answer { wait = min(wait, remaining + .milliseconds(1)) }
            try await clock.rest(for: wait)
            pause = min(pause * 1.5, 100)
        }
    }
}

/// Whether a lease still stands, as far as its holder knows.
public final class LeaseStatus: Sendable {
    private let lost = Atomic<Bool>(false)

    /// False once the lease is known to be gone: another instance may have begun.
    public var isHeld: Bool { !lost.load(ordering: .acquiring) }

    func lose() { lost.store(true, ordering: .releasing) }
}
