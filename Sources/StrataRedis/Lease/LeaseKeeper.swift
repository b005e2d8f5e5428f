internal import Strata

/// Renews the leases of this process until their holders give them back.
///
/// Each renewal is timed by the deadline of the one before, counted from before it was sent, so a late wake-up does not
/// delay the next one. A failed renewal is tried again while the lease can still stand. Holding a lease costs no task;
/// only a renewal does.
///
/// A lease ends at the server, whose time goes on in any case: renewals go by the system's clock. How long a lease is
/// renewed in all goes by the running time of the cache's.
final class LeaseKeeper: Watched {
    private struct Held: Sendable {
        let lease: Lease
        /// Until when the lease is renewed, by the running time.
        let limit: MonotonicInstant
        /// Called once when the lease is known to be gone.
        let lost: @Sendable () -> Void
        /// Whether its work is of no use without the client.
        let endsWithClient: Bool
        /// As far as this process knows.
        var expiry: MonotonicInstant
        /// When something is due; the lease's expiry while a renewal is on its way.
        var due: MonotonicInstant

        /// A lease is renewed after a third of its time, and shortly after a failure.
        mutating func stand(until expiry: MonotonicInstant, at now: MonotonicInstant) {
            self.expiry = expiry
            let soonest = now.advanced(by: lease.duration / 20)
            due = min(max(expiry.advanced(by: lease.duration * (-2.0 / 3)), soonest), expiry)
        }
    }

    private struct State: Sendable {
        var held: [UInt64: Held] = [:]
        /// The tokens of those under which a read fills a level above others, and the same as a set: a lease has its
        /// own.
        var toFill: [UInt64: [UInt8]] = [:]
        var tokensToFill: Set<[UInt8]> = []
        var lastNumber: UInt64 = 0
        /// Whether the client has ended, and renews nothing more.
        var isStopped = false
    }

    private let state = Locked(State())
    private let watch = Watch()
    private let clock: CacheClock

    init(_ clock: CacheClock) {
        self.clock = clock
        clock.moved?.ask(self)
    }

    /// Leases that are held now.
    var count: Int { state.withLock { $0.held.count } }

    /// Begins to renew a lease.
    ///
    /// - Parameters:
    ///   - lease: The lease, just granted.
    ///   - limit: How long the lease is renewed in all.
    ///   - endsWithClient: Whether its work is of no use without the client, so that both end together.
    ///   - isToFill: Whether a read holds it while it asks the levels below.
    ///   - lost: Called once when the lease is known to be gone.
    /// - Returns: The number by which to give the lease back.
    func keep(
        _ lease: Lease,
        upTo limit: Duration,
        endsWithClient: Bool = true,
        isToFill: Bool = false,
        lost: @escaping @Sendable () -> Void
    ) -> UInt64 {
        let expiry = lease.grantedAt.advanced(by: lease.duration)
        var held = Held(
            lease: lease,
            limit: clock.running(at: lease.grantedAt).advanced(by: limit),
            lost: lost,
            endsWithClient: endsWithClient,
            expiry: expiry,
            due: expiry
        )
        held.stand(until: expiry, at: lease.grantedAt)
        let number = state.withLock { state in
            state.lastNumber += 1
            state.held[state.lastNumber] = held
            if isToFill {
                state.toFill[state.lastNumber] = lease.token
                state.tokensToFill.insert(lease.token)
            }
            return state.lastNumber
        }
        watch.schedule(self, by: held.due)
        return number
    }

    /// Stops renewing a lease; a renewal on its way finds it gone, or is the last.
    func giveBack(_ number: UInt64) {
        state.withLock { state in
            state.held[number] = nil
            if let token = state.toFill.removeValue(forKey: number) { state.tokensToFill.remove(token) }
        }
    }

    /// Whether a read of this process holds the lease with this token, and asks the levels below.
    ///
    func isToFill(_ token: [UInt8]) -> Bool { state.withLock { $0.tokensToFill.contains(token) } }

    /// The client ends in a moment: the leases of fetches are ended while calls are still taken, and their holders
    /// told.
    ///
    /// Otherwise an instance that waits for one would wait until it has run out. Other work may go on without the
    /// client, and has the rest of its lease for that.
    func endFetches() {
        let ending = state.withLock { state in
            let ending = state.isStopped ? [:] : state.held.filter { $0.value.endsWithClient }
            for number in ending.keys { state.held[number] = nil }
            return ending.values
        }
        for held in ending {
            held.lost()
            held.lease.leave()
        }
    }

    /// The client ends: its leases run out.
    func stop() { state.withLock { $0.isStopped = true } }

    /// O(leases).
    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        let running = clock.running(at: now)
        let (lost, renewals, next) = state.withLock { state in
            var (lost, renewals): ([Held], [(UInt64, Lease)]) = ([], [])
            for (number, held) in state.held where held.due <= now {
                if held.expiry <= now {
                    lost.append(held)
                    state.held[number] = nil
                } else if held.limit <= running {
                    state.held[number]?.due = held.expiry
                } else {
                    renewals.append((number, held.lease))
                    // Without an answer by then the lease is lost.
                    state.held[number]?.due = held.expiry
                }
            }
            return (lost, renewals, state.held.values.reduce(MonotonicInstant.distantFuture) { min($0, $1.due) })
        }
        for held in lost { held.lost() }
        for (number, lease) in renewals { Task { await renew(number, lease) } }
        return next
    }

    /// Owned by the deadline of the command that it sends.
    private func renew(_ number: UInt64, _ lease: Lease) async {
        let sent = MonotonicInstant.now
        let isRenewed = try? await lease.renew()
        let (lost, due) = state.withLock { state in
            guard var held = state.held[number] else { return (nil as Held?, MonotonicInstant.distantFuture) }
            guard isRenewed != false else {
                state.held[number] = nil
                return (held, .distantFuture)
            }
            let expiry = isRenewed == nil ? held.expiry : sent.advanced(by: lease.duration)
            held.stand(until: expiry, at: .now)
            state.held[number] = held
            return (nil, held.due)
        }
        lost?.lost()
        watch.schedule(self, by: due)
    }
}

extension LeaseKeeper: ServerKeyKeeper {
    /// The leases that are renewed until then, and the values that are kept alive with them; others are lost.
    func keysKept(until running: MonotonicInstant) -> [[UInt8]] {
        let (lost, names) = state.withLock { state in
            guard !state.isStopped else { return ([], []) as ([Held], [[UInt8]]) }
            let lost = state.held.filter { $0.value.limit <= running }
            for number in lost.keys { state.held[number] = nil }
            let kept = state.held.values.flatMap { [$0.lease.names.lease, $0.lease.names.value] }.map(\.bytes)
            return (Array(lost.values), kept)
        }
        for held in lost { held.lost() }
        return names
    }
}

extension Lease {
    /// Keeps the lease for as long as `body` runs, up to `limit`, and ends it on every way out.
    ///
    /// - Parameters:
    ///   - limit: How long the lease is renewed in all.
    ///   - endsWithClient: Whether the work is of no use without the client.
    ///   - lost: Called once when the lease is known to be gone while `body` still runs.
    ///   - body: The work. It may say how the lease ends; by default it ends without a value.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    func held<Result>(
        upTo limit: Duration,
        endsWithClient: Bool = true,
        lost: @escaping @Sendable () -> Void = {},
        while body: (inout Ending) async throws -> Result
    ) async throws -> Result {
        let number = redis.leases.keep(self, upTo: limit, endsWithClient: endsWithClient, lost: lost)
        var ending = Ending.withoutValue
        do {
            let result = try await body(&ending)
            redis.leases.giveBack(number)
            await end(ending)
            return result
        } catch {
            redis.leases.giveBack(number)
            await end(ending)
            throw error
        }
    }
}
