internal import Logging
internal import Strata
internal import Synchronization

/// Keeps the unconfirmed invalidations of a client, and repeats them when Redis is back.
///
/// A task repeats them: at once, because a cancelled caller is no outage, then after growing pauses and when a
/// connection is made. It tries the first alone and, when that has succeeded, the others, several at a time and at a
/// bounded rate; in a cluster those of each node by themselves. The task ends with the last one, and with the client,
/// which it does not keep alive.
final class InvalidationReplay: Sendable {
    /// How many are sent at a time, and the shortest time for that: 2 000 a second from each instance to each server.
    private static let batch = 32
    private static let batchInterval: Duration = .milliseconds(16)
    private static let pause: ClosedRange<Duration> = .milliseconds(100) ... .seconds(2)
    /// For those that are refused for good: a missing permission does not mend by itself, and thousands that go on
    /// asking are a load.
    private static let refusedPause: ClosedRange<Duration> = .milliseconds(100) ... .seconds(120)
    /// The shortest time for which one is kept: other instances may have stored values with longer lifetimes.
    static let shortestMemory: Duration = .seconds(86_400)

    private struct State {
        var pending: PendingInvalidations
        var worker: Task<Void, Never>?
        /// The reason for the worker's wait between two attempts.
        var sleeper: Task<Void, Never>?
        /// Until when the worker sleeps because nothing is due.
        var restsUntil = MonotonicInstant.distantPast
        /// A connection was made since the last attempt began.
        var isHurried = false
        var isStopped = false
        /// The client ends: invalidations that fail from now on are repeated by the call that ends it.
        var isFinishing = false
        var replayed = 0
        /// What has failed since the end, and is not kept.
        var refused = 0
        var toldOfLoss = false
    }

    private let limit: Int
    private let state: Locked<State>
    /// How many are pending: every read checks this before it takes the lock.
    private let count = Atomic<Int>(0)
    private let endpoint: String
    private let logger: Logger?
    /// By which values and invalidations have their age; attempts and their pauses go by the system's clock.
    private let clock: CacheClock

    init(limit: Int, endpoint: String, clock: CacheClock = .current, logger: Logger?) {
        self.limit = limit
        state = Locked(State(pending: PendingInvalidations(limit: limit)))
        self.endpoint = endpoint
        self.clock = clock
        self.logger = logger
    }

    var statistics: OutageStatistics {
        state.withLock { state in
            var statistics = OutageStatistics()
            statistics.pendingInvalidations = state.pending.count
            statistics.replayedInvalidations = state.replayed
            statistics.droppedInvalidations = state.pending.dropped + state.refused
            return statistics
        }
    }

    /// Whether the client ends, and what fails is tried until then.
    var isFinishing: Bool { state.withLock { $0.isFinishing } }

    /// Which of the values under these names may be older than a pending invalidation.
    ///
    /// Ask before reading Redis: an invalidation that is carried out meanwhile is no longer pending, and may have come
    /// too late for the answer.
    @inline(__always)
    func reach(over names: KeyNames, _ keyspace: Keyspace) -> PendingInvalidations.Reach {
        guard count.load(ordering: .acquiring) > 0 else { return .nothing }
        return state.withLock { $0.pending.reach(over: names, keyspace) }
    }

    /// Keeps an invalidation that has failed.
    ///
    /// - Parameters:
    ///   - target: The target of the invalidation.
    ///   - rank: How much would be lost with it.
    ///   - lifetime: How long what it removes may live.
    ///   - notBefore: Until when a write that it removes may still arrive.
    ///   - client: The client of its server.
    /// - Returns: Whether it is kept.
    @discardableResult
    func record(
        _ target: PendingInvalidations.Target,
        _ rank: PendingInvalidations.Rank,
        for lifetime: Duration,
        notBefore: MonotonicInstant = .distantPast,
        _ client: RedisClient
    ) -> Bool {
        let reference = ClientReference(client: client)
        let (isKept, hasLost) = state.withLock { state in
            guard !state.isStopped else {
                state.refused += 1
                return (false, state.refused == 1)
            }
            let dropped = state.pending.dropped
            let isKept = state.pending.record(
                target,
                rank,
                at: clock.now,
                for: max(lifetime, Self.shortestMemory),
                notBefore: notBefore
            )
            count.store(state.pending.count, ordering: .releasing)
            let hasLost = state.pending.dropped > dropped && !state.toldOfLoss
            if hasLost { state.toldOfLoss = true }
            // The worker may be asleep until something later is due.
            if notBefore < state.restsUntil { state.sleeper?.cancel() }
            if state.worker == nil, !state.isFinishing {
                // A task of its own: the call that failed first has a budget and other task-local values.
                state.worker = Task.detached { [self] in await work(for: reference) }
            }
            return (isKept, hasLost)
        }
        if hasLost { log(.warning, "too many invalidations have failed, or too late: some will not be repeated") }
        return isKept
    }

    /// Tries now, without waiting for the end of the pause.
    ///
    /// - Parameter key: What is tried as well if it was refused for good.
    func hurry(_ key: (names: KeyNames, keyspace: Keyspace)? = nil) {
        guard count.load(ordering: .acquiring) > 0 else { return }
        let sleeper = state.withLock { state in
            if let key { state.pending.retry(key.names, key.keyspace) }
            state.isHurried = true
            return state.sleeper
        }
        sleeper?.cancel()
    }

    /// Tries until all are carried out, or until `deadline`, and never afterwards.
    ///
    /// What fails meanwhile is kept, too: calls go on until connections end.
    func finish(by deadline: MonotonicInstant, _ client: RedisClient) async {
        let (worker, hasEnded) = state.withLock { state in
            state.isFinishing = true
            state.sleeper?.cancel()
            return (state.worker.take(), state.isStopped)
        }
        // Connections have ended.
        guard !hasEnded else { return }
        worker?.cancel()
        await worker?.value
        defer { state.withLock { $0.isStopped = true } }
        while count.load(ordering: .acquiring) > 0, .now < deadline {
            // An invalidation that would come due too late is carried out too early rather than never.
            let due = state.withLock { $0.pending.firstDue }
            guard await !attempt(client, by: deadline, early: due >= deadline).isWhole || due > .now else { continue }
            // An invalidation that is refused for good is no reason to wait.
            guard state.withLock({ $0.pending.hasChance(by: deadline) }) else { break }
            let wait = max(Self.pause.lowerBound, MonotonicInstant.now.duration(to: due < deadline ? due : .now))
            let pause = min(MonotonicInstant.now.duration(to: deadline), wait)
            guard (try? await Task.pause(for: pause)) != nil else { break }
        }
        logLeft()
    }

    private func logLeft() {
        let left = count.load(ordering: .acquiring)
        if left > 0 { log(.warning, "failed invalidations are given up: the client ends", ["count": "\(left)"]) }
    }

    /// Tries no more; says so where there was something left to try.
    func stop() {
        let (worker, sleeper, wasStopped) = state.withLock { state in
            let wasStopped = state.isStopped
            state.isStopped = true
            return (state.worker.take(), state.sleeper.take(), wasStopped)
        }
        if !wasStopped { logLeft() }
        worker?.cancel()
        sleeper?.cancel()
    }

    // MARK: The worker

    private func work(for reference: ClientReference) async {
        var failures = 0
        var notices = Notices()
        while !Task.isCancelled {
            if failures > 0 { await rest(after: failures) }
            guard !Task.isCancelled, let round = await attempt(reference) else { return }
            // The call that ends the client goes on from here.
            guard !Task.isCancelled else { return }
            failures = round.isWhole ? 0 : failures + 1
            if let error = notices.news(of: round) {
                log(.notice, "invalidations have failed and will be repeated", RefusalLog.metadata(of: error))
            }
            await restUntilDue()
            let hasEnded = state.withLock { state in
                if state.pending.isEmpty { state.worker = nil }
                return state.pending.isEmpty
            }
            guard hasEnded else { continue }
            if notices.areAllRepeated { log(.notice, "the failed invalidations were repeated") }
            return
        }
    }

    /// Tries with the client, which is kept alive for that long and not while the worker rests.
    ///
    /// - Returns: `nil` when the client is gone.
    private func attempt(_ reference: ClientReference) async -> Round? {
        guard let client = reference.client else { return nil }
        return await attempt(client, by: .distantFuture)
    }

    /// What a worker tells: an outage and a refusal once each, and neither for what a caller has left, or for one bad
    /// moment, which the first repetition mends.
    private struct Notices {
        private var isOutageTold = false
        private var isRefusalTold = false
        private var hasGivenUp = false

        /// Whether what was told is over, and nothing was given up.
        private(set) var areAllRepeated = false

        /// Why a round has failed, if that is to be told.
        mutating func news(of round: Round) -> (any Error)? {
            hasGivenUp = hasGivenUp || round.expired > 0
            let failure = isOutageTold ? nil : round.failure
            let refusal = isRefusalTold ? nil : round.refusal
            // The next outage is another one.
            isOutageTold = round.failure != nil
            isRefusalTold = isRefusalTold || round.refusal != nil
            let news = failure ?? refusal
            areAllRepeated = !hasGivenUp && (areAllRepeated || news != nil)
            return news
        }
    }

    /// Waits until something may be carried out.
    private func restUntilDue() async {
        let due = state.withLock { state in
            let due = state.pending.firstDue
            state.restsUntil = due == .distantFuture ? .distantPast : due
            return state.restsUntil
        }
        defer { state.withLock { $0.restsUntil = .distantPast } }
        guard .now < due else { return }
        await rest(for: MonotonicInstant.now.duration(to: due))
    }

    private func rest(after failures: Int) async {
        let whole = min(Self.pause.upperBound, Self.pause.lowerBound * (1 << min(failures - 1, 20)))
        await rest(for: whole * Double.random(in: 0.5...1))
    }

    private func rest(for pause: Duration) async {
        let sleeper = Task { _ = try? await Task.pause(for: pause) }
        let isOver = state.withLock { state in
            defer { state.isHurried = false }
            let ends = state.isStopped || state.isFinishing
            if !ends { state.sleeper = sleeper }
            return ends || state.isHurried || state.restsUntil > state.pending.firstDue
        }
        if isOver { sleeper.cancel() }
        await sleeper.value
    }

    /// The outcome of an attempt.
    private struct Round: Sendable {
        /// Whether none has failed but for good: those rest by themselves.
        var isWhole = true
        /// Why the first has failed, and why the first was refused for good.
        var failure: (any Error)?
        var refusal: (any Error)?
        /// How many were given up because no value can be so old.
        var expired = 0

        mutating func add(_ other: Round) {
            isWhole = isWhole && other.isWhole
            failure = failure ?? other.failure
            refusal = refusal ?? other.refusal
        }
    }

    /// Carries out what is pending and due, at all nodes of a cluster at once: one that stands still keeps no other
    /// waiting.
    ///
    /// What was not tried yet when one has failed is left.
    private func attempt(_ client: RedisClient, by deadline: MonotonicInstant, early: Bool = false) async -> Round {
        let (due, expired) = state.withLock { state in
            let now = MonotonicInstant.now
            let before = state.pending.count
            state.pending.expire(at: clock.now(at: now))
            count.store(state.pending.count, ordering: .releasing)
            let due = state.pending.inOrder.filter { (early || $0.notBefore <= now) && $0.restsUntil <= now }
            return (due, before - state.pending.count)
        }
        if expired > 0 {
            let message: Logger.Message = "failed invalidations are given up: no value can be that old"
            log(.warning, message, ["count": "\(expired)"])
        }
        let queues = Dictionary(grouping: due) { ObjectIdentifier(client.responsible(for: $0.target.key)) }
        return await withTaskGroup(of: Round.self) { group in
            for queue in queues.values {
                group.addTask { [self] in await attempt(queue, client, by: deadline) }
            }
            return await group.reduce(into: Round(expired: expired)) { $0.add($1) }
        }
    }

    /// Carries out those of one server: the first alone, then several at a time, until one fails.
    ///
    /// A node of a cluster that refuses one may take the others where only the one's slot is on its way. So may any
    /// server that refuses one for good, for want of a permission. One that refuses all for a time, as in a cluster
    /// that is down, is not asked again in this round: others wait for its end.
    private func attempt(
        _ intents: [PendingInvalidations.Intent],
        _ client: RedisClient,
        by deadline: MonotonicInstant
    ) async -> Round {
        var rest = intents[...]
        var count = 1
        var round = Round()
        while !rest.isEmpty {
            let began = MonotonicInstant.now
            guard !Task.isCancelled, began < deadline else {
                round.isWhole = false
                return round
            }
            let some = rest.prefix(count)
            rest = rest.dropFirst(count)
            let ends = await withTaskGroup(of: End.self) { group in
                for intent in some { group.addTask { [self] in await carryOut(intent, client, by: deadline) } }
                return await group.reduce(into: [End]()) { $0.append($1) }
            }
            for end in ends { round.add(end.round) }
            guard !ends.contains(where: \.endsRound) else { return round }
            let left = Self.batchInterval - began.duration(to: .now)
            if left > .zero, count > 1, !rest.isEmpty { try? await Task.pause(for: left) }
            count = Self.batch
        }
        return round
    }

    /// The outcome of one.
    private enum End: Sendable {
        case done
        /// Refused for good.
        case refused(any Error)
        /// Refused since its slot is elsewhere.
        case slotElsewhere(any Error)
        case failed(any Error)

        /// Whether it speaks against trying others.
        var endsRound: Bool { if case .failed = self { true } else { false } }

        var round: Round {
            switch self {
            case .done: Round()
            case .refused(let error): Round(refusal: error)
            case .slotElsewhere(let error), .failed(let error): Round(isWhole: false, failure: error)
            }
        }
    }

    private func carryOut(
        _ intent: PendingInvalidations.Intent,
        _ client: RedisClient,
        by deadline: MonotonicInstant
    ) async -> End {
        do { try await client.repeatInvalidation(intent, by: deadline) } catch {
            guard let refusal = error as? RedisError, refusal.serverMessage != nil else { return .failed(error) }
            if client.isCluster, refusal.isOfOneSlot { return .slotElsewhere(error) }
            guard !refusal.isOfOutage else { return .failed(error) }
            state.withLock { $0.pending.refuse(intent, pauses: Self.refusedPause, at: .now) }
            return .refused(error)
        }
        state.withLock { state in
            if state.pending.settle(intent) { state.replayed += 1 }
            count.store(state.pending.count, ordering: .releasing)
            // The next one that is given up for lack of room is news.
            if state.pending.count <= limit / 2 { state.toldOfLoss = false }
        }
        return .done
    }

    private func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        logger?.log(level: level, message, metadata: metadata.merging(["redis.endpoint": "\(endpoint)"]) { $1 })
    }
}

/// A weak reference to the client.
private struct ClientReference: Sendable {
    weak let client: RedisClient?
}
