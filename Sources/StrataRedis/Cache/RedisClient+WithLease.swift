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
    /// The guarantee: among all instances that ask for this name at one primary, at most one runs its work at a time, as
    /// long as the lease is renewed in time and the primary neither loses data nor fails over. This spares work; it does not
    /// guard data. An instance that is stopped for longer than the lease goes on afterwards while another may have begun:
    /// what must not happen twice has to be refused by where it happens.
    ///
    /// Round trips: one to get the lease, one to end it, one for each third of its duration; while another holds it, one
    /// each 5 to 100 ms.
    ///
    /// - Parameters:
    ///   - name: What is to be done by one at a time.
    ///   - keyspace: Where the lease lies.
    ///   - options: How long the lease stands and is renewed, and how long a caller waits for it.
    ///   - body: The work. It is not cancelled when the lease is lost, or has run out because it was renewed for
    ///     ``LeaseOptions/renewalLimit`` in all; ``LeaseStatus/isHeld`` tells of either.
    /// - Returns: What the work returns.
    /// - Throws: What the work throws; ``/Strata/CacheError/Code/timeout`` when the lease was not to be had within
    ///   ``LeaseOptions/waitLimit``; ``RedisError``; `CancellationError`.
    public func withLease<Result: Sendable>(
        _ name: String,
        in keyspace: Keyspace = "leases",
        options: LeaseOptions = LeaseOptions(),
        _ body: @escaping @Sendable (LeaseStatus) async throws -> Result
    ) async throws -> Result {
        // Whoever calls this while a cache asks it for a value has its own time, and not what that cache has left.
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
        return try await lease.held(upTo: options.renewalLimit, lost: { status.lose() }) { _ in try await body(status) }
    }

    private func acquire(_ names: KeyNames, _ keyspace: Keyspace, _ options: LeaseOptions) async throws -> Lease {
        let giveUp = MonotonicInstant.now.advanced(by: options.waitLimit)
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
            guard .now < giveUp else {
                throw CacheError(code: .timeout, message: "another instance has held the lease all the time")
            }
            var wait = Duration.milliseconds(pause * Double.random(in: 0.5...1))
            if case .waits(let remaining, _) = answer { wait = min(wait, remaining + .milliseconds(1)) }
            try await Task.pause(for: wait)
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
