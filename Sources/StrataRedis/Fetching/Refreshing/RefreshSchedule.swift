internal import Logging
internal import Strata

/// Refreshes the keys of a level round by round, while this instance is the one of the fleet that does.
final class RefreshSchedule<Base: CacheLevel>: Sendable {
    typealias Key = Base.Key

    /// How long a lease is renewed: now and then another instance may have its turn.
    ///
    /// That one begins with a round, so this is longer than the time between two.
    var tenure: Duration { max(.seconds(3_600), min(interval, EntryLifetime.longest) * 2) }

    private let base: Base
    private let redis: RedisClient
    private let keyspace: Keyspace
    private let name: String
    private let interval: Duration
    private let options: RefreshOptions
    private let logger: Logger?
    private let keys: @Sendable () async throws -> [Key]
    private let onFailure: @Sendable (Key?, any Error) -> Void
    private let counts = Locked(RefreshStatistics())
    private let questions: Flights<Int, [Key]>
    private let present = Locked(Present())

    /// The lease by which this instance leads, and its rest between two rounds.
    private struct Present {
        var lease: LeaseStatus?
        var sleeper: Task<Void, Never>?
    }

    init(
        _ base: Base,
        _ redis: RedisClient,
        _ keyspace: Keyspace,
        _ name: String,
        _ interval: Duration,
        _ options: RefreshOptions,
        _ logger: Logger?,
        onFailure: @escaping @Sendable (Key?, any Error) -> Void,
        keys: @escaping @Sendable () async throws -> [Key]
    ) {
        self.base = base
        self.redis = redis
        self.keyspace = keyspace
        self.name = name
        self.interval = max(interval, .milliseconds(1))
        self.options = options
        self.logger = logger
        self.onFailure = onFailure
        self.keys = keys
        questions = Flights(clock: redis.clock)
    }

    /// A round falls due by itself, also on a clock that a test moves.
    private var clock: CacheClock { redis.clock }

    var statistics: RefreshStatistics { counts.withLock { $0 } }

    /// Competes for the lease, and refreshes while it has it, until the task is cancelled.
    func run() async {
        var isFailing = false
        while !Task.isCancelled {
            do {
                // A source has its own time.
                try await CallBudget.$current.withValue(nil) { try await compete() }
                isFailing = false
            } catch let error as RedisError {
                if !isFailing { log("keys are not refreshed on schedule: Redis cannot be asked", error) }
                isFailing = true
            } catch {
                isFailing = false
            }
            let look = max(options.lookInterval, .milliseconds(10))
            try? await clock.rest(for: look * Double.random(in: 0.5...1))
        }
    }

    /// Leads until the lease is lost, unless another instance has it.
    private func compete() async throws {
        let names = keyspace.names(for: "refresh:\(name)".keyBytes)
        let duration = max(options.leaseDuration, .seconds(1))
        let answer = try await Lease.readOrLead(redis, keyspace, names, duration: duration, replacing: nil, .exclusive)
        // An instance that does not get it at once looks again later; waiting would ask Redis all the time.
        guard case .leads(let lease, _) = answer else { return }
        let status = LeaseStatus()
        present.withLock { $0 = Present(lease: status) }
        try await lease.held(upTo: tenure, endsWithClient: false, lost: { [self] in lost(status) }) { _ in
            try await lead(while: status)
        }
    }

    /// Another instance may lead from now on, also while this one ends the fetches that it has begun.
    private func lost(_ lease: LeaseStatus) {
        lease.lose()
        // The loss of an earlier lease may be noticed late.
        let (isPresent, sleeper) = present.withLock { ($0.lease === lease, $0.sleeper) }
        guard isPresent else { return }
        counts.withLock { $0.isLeading = false }
        sleeper?.cancel()
    }

    /// Makes rounds while the lease stands; another instance may try where the keys cannot be had in time.
    private func lead(while lease: LeaseStatus) async throws {
        counts.withLock { $0.isLeading = true }
        defer { counts.withLock { $0.isLeading = false } }
        while lease.isHeld {
            let start = clock.running
            guard await round(while: lease) else { return }
            try await rest(until: start.advanced(by: options.pause(interval)), while: lease)
        }
    }

    /// Rests until a time, or until the lease is lost.
    private func rest(until due: MonotonicInstant, while lease: LeaseStatus) async throws {
        let sleeper = Task { [clock] in
            _ = try? await clock.rest(for: max(clock.running.duration(to: due), .zero))
        }
        present.withLock { $0.sleeper = sleeper }
        // It was lost before there was a rest to end.
        if !lease.isHeld { sleeper.cancel() }
        await withTaskCancellationHandler {
            await sleeper.value
        } onCancel: {
            sleeper.cancel()
        }
        try Task.checkCancellation()
    }

    /// The keys; `nil` when they were not told in time.
    private func told() async throws -> [Key]? {
        let limit = WaitLimit(sinceJoining: options.keyTimeout)
        do {
            return try await questions.join(0, limit: limit) { [keys] _ in try await keys() }.output
        } catch is WaitLimitReached {
            return nil
        }
    }

    /// Fetches all keys anew, some at a time.
    ///
    /// - Returns: False where the keys were not told in time.
    private func round(while lease: LeaseStatus) async -> Bool {
        let start = clock.running
        guard !base.lacksSource else {
            let error = CacheError(code: .miss, message: "the cache has no source of its own: its calls bring theirs")
            fail(error, "no key can be refreshed on schedule")
            return true
        }
        let all: [Key]
        let untold: Logger.Message = "the closure that names the keys to refresh on schedule has failed"
        do {
            guard let told = try await told() else {
                fail(CacheError(code: .timeout, message: "no keys were named within \(options.keyTimeout)"), untold)
                return false
            }
            all = told
        } catch {
            if !Task.isCancelled { fail(error, untold) }
            return true
        }
        var seen: Set<Key> = []
        var rest = all.filter { seen.insert($0).inserted }[...]
        var failures = 0
        var first: (any Error)?
        while !rest.isEmpty, lease.isHeld, !Task.isCancelled {
            let some = Array(rest.prefix(max(options.batch, 1)))
            rest = rest.dropFirst(some.count)
            for (key, error) in await refresh(some) {
                failures += 1
                first = first ?? error
                onFailure(key, error)
            }
        }
        guard !Task.isCancelled else { return true }
        // One that the loss of the lease has cut off is none: keys are left.
        if rest.isEmpty {
            counts.withLock { counts in
                counts.rounds += 1
                counts.lastDuration = start.duration(to: clock.running)
            }
        }
        if let first { log("\(failures) of \(seen.count) keys could not be refreshed on schedule", first) }
        return true
    }

    /// A round could not begin.
    private func fail(_ error: any Error, _ message: Logger.Message) {
        counts.withLock { $0.failedRounds += 1 }
        log(message, error)
        onFailure(nil, error)
    }

    /// - Returns: The keys that have failed.
    private func refresh(_ keys: [Key]) async -> [(Key, any Error)] {
        let request = ReadRequest(leavesOutFailures: true, options: .reload.with(staleness: .never))
        var failures: [(Key, any Error)] = []
        do {
            for (key, outcome) in zip(keys, try await base.outcomes(for: keys, request)) {
                switch outcome {
                case .success: continue
                case .failure(let error): failures.append((key, error))
                case nil:
                    failures.append((key, CacheError(code: .levelsFailed, message: "a key of a batch has failed")))
                }
            }
        } catch {
            failures = keys.map { ($0, error) }
        }
        // A fetch that ends with its service has not failed.
        guard !Task.isCancelled else { return [] }
        counts.withLock { counts in
            counts.refreshed += keys.count - failures.count
            counts.failed += failures.count
        }
        return failures
    }

    private func log(_ message: Logger.Message, _ error: any Error) {
        logger?.warning(message, metadata: ["refresh": "\(name)", "error": "\(CacheError.name(of: error))"])
    }
}
