public import Logging
internal import Strata

#if ServiceLifecycle
public import ServiceLifecycle
#endif

/// Measures in operation whether the caches of a fleet serve true values.
///
/// ```swift
/// let monitor = ConsistencyMonitor(redis, keyspace: "products")
/// await monitor.run()  // or give it to a ServiceGroup
/// ```
///
/// It follows the changes in a keyspace as an instance does. Some time after a change, 100 ms, 1 s, 3 s and a minute by
/// default, it asks the instances that run a ``FleetMember`` which version of the key their memory holds, and compares
/// that with Redis. The idea is that of Meta's Polaris ("Cache made consistent", 2022). ``report`` has the number of
/// nines by delay, ``inconsistencies(bufferingNewest:)`` each finding with its cause. Only a proved inconsistency
/// counts; `ConsistencyJudge` in the sources has the argument.
///
/// It never reads or tells a value, and changes nothing but the answers that instances leave in Redis for 10 s. It
/// needs a user for ``AccessRules/Purpose/inspect``. For each followed change and each delay Redis answers four small
/// commands, and one for each instance; instances get ten questions a second at most, with 32 keys at most each.
///
/// An instance whose link is dead hears no question either, so it counts as silent; it stops trusting its memory within
/// seconds.
public final class ConsistencyMonitor: Sendable {
    private struct State: Sendable {
        var report: ConsistencyReport
        var instances: [FleetInstance] = []
        /// Those that did not answer the last question.
        var mute: Set<String> = []
        /// When the next question may be sent.
        var nextQuestion = MonotonicInstant.distantPast
    }

    /// The delays after a change, in rising order.
    public let delays: [Duration]

    private let inspector: KeyspaceInspector
    private let fleet: FleetInspector
    private let follower: ChangeFollower
    private let mostInstances: Int
    private let logger: Logger?
    private let start = MonotonicInstant.now
    /// How long ago the monitor was made.
    var elapsed: Duration { start.duration(to: .now) }
    private let state: Locked<State>
    private let feeds = Locked(Feeds())

    /// The readers of findings.
    private struct Feeds {
        var open: [UInt64: AsyncStream<Inconsistency>.Continuation] = [:]
        /// Whether the run is over, so that nothing more comes.
        var hasEnded = false
    }

    private static let answerLimit: Duration = .milliseconds(500)
    private static let questionPause: Duration = .milliseconds(100)
    private static let listingPause: Duration = .seconds(5)
    private static let mostLooks = 4

    /// A monitor of a keyspace; nothing is sent before ``run()``.
    ///
    /// - Parameters:
    ///   - redis: The server; its user needs ``AccessRules/Purpose/inspect``.
    ///   - keyspace: The keyspace.
    ///   - delays: How long after a change to look; up to eight delays of 1 ms to an hour; others are clamped, and
    ///     those beyond eight are left out.
    ///   - rate: How many changes to follow in a second; 1 to 60, 20 by default. Others are not looked at.
    ///   - bucketLength: The span of time that each of ``ConsistencyReport/buckets`` covers; at least a second, a
    ///     minute by default.
    ///   - mostInstances: How many instances to ask; 1 to 1000, 100 by default. If there are more, those with the
    ///     lowest numbers, which are random.
    ///   - logger: Gets a line for each inconsistency, ten in a minute at most.
    public init(
        _ redis: RedisClient,
        keyspace: Keyspace,
        delays: [Duration] = [.milliseconds(100), .seconds(1), .seconds(3), .seconds(60)],
        rate: Int = 20,
        bucketLength: Duration = .seconds(60),
        mostInstances: Int = 100,
        logger: Logger? = nil
    ) {
        let delays = Set(delays.map { min(max($0, .milliseconds(1)), .seconds(3600)) }).sorted().prefix(8)
        self.delays = delays.isEmpty ? [.seconds(1)] : Array(delays)
        inspector = KeyspaceInspector(redis, keyspace)
        fleet = FleetInspector(redis, keyspace)
        let schedule = ConsistencySchedule(delays: self.delays, rate: min(max(rate, 1), 60))
        follower = ChangeFollower(redis, keyspace, schedule)
        self.mostInstances = min(max(mostInstances, 1), 1000)
        self.logger = logger
        let length = min(max(bucketLength, .seconds(1)), EntryLifetime.longest)
        state = Locked(State(report: ConsistencyReport(delays: self.delays, bucketLength: length)))
    }

    /// What the monitor has seen so far.
    public var report: ConsistencyReport {
        var report = state.withLock { $0.report }
        (report.changes, report.leftOut, report.abandoned) = follower.withSchedule {
            ($0.changes, $0.leftOut, $0.abandoned)
        }
        report.isListening = follower.isListening
        report.refusal = report.isListening ? nil : inspector.redis.cache.refusal
        return report
    }

    /// Inconsistencies as they are found, from now on.
    ///
    /// - Parameter limit: How many wait at most for a reader; a slow one loses the oldest.
    /// - Returns: The findings. It ends when the task that reads it ends, and with ``run()``; at once if that has ended
    ///   already.
    public func inconsistencies(bufferingNewest limit: Int = 256) -> AsyncStream<Inconsistency> {
        let (stream, feed) = AsyncStream.makeStream(of: Inconsistency.self, bufferingPolicy: .bufferingNewest(limit))
        let number = UInt64.random(in: 0 ... .max)
        feed.onTermination = { [weak self] _ in _ = self?.feeds.withLock { $0.open.removeValue(forKey: number) } }
        let hasEnded = feeds.withLock { feeds in
            if !feeds.hasEnded { feeds.open[number] = feed }
            return feeds.hasEnded
        }
        if hasEnded { feed.finish() }
        return stream
    }

    /// Follows changes and checks, until the task is cancelled or, in a `ServiceGroup`, until graceful shutdown begins.
    ///
    /// Returns without an error in both cases. The checks of a time in which Redis fails count as abandoned.
    public func run() async {
        feeds.withLock { $0.hasEnded = false }
        let redis = inspector.redis
        let number = redis.cache.tell(follower, of: inspector.keyspace)
        redis.begin()
        await withTaskGroup { group in
            group.addTask { await self.keepListing() }
            group.addTask { await self.check() }
            _ = await Lifetime.end()
            group.cancelAll()
        }
        redis.cache.tellNoMore(number)
        // The report stays, but its reader must see that the monitor no longer hears of changes.
        follower.end()
        let left = feeds.withLock { feeds in
            feeds.hasEnded = true
            return exchange(&feeds.open, with: [:])
        }
        for feed in left.values { feed.finish() }
    }

    // MARK: Instances

    private func keepListing() async {
        do {
            while true {
                let listing = try? await fleet.instances(limit: mostInstances)
                let instances = listing?.instances.filter { $0.record != nil }
                // The report stays when its run has ended.
                try Task.checkCancellation()
                state.withLock { state in
                    // Those of the last list may still be asked; how many there are is not known.
                    if let instances { state.instances = instances }
                    state.report.instances = instances?.count ?? 0
                }
                try await Task.pause(for: Self.listingPause)
            }
        } catch {}
    }

    // MARK: Checks

    /// Takes what is due, as often as a question may be sent.
    ///
    /// Second looks go first. What is due waits in the schedule meanwhile, which gives up what has become too late;
    /// were it taken at once, it would wait behind them for longer and longer, and be counted by a delay that was not
    /// kept.
    private func check() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let now = MonotonicInstant.now
                let free = state.withLock { $0.nextQuestion }
                guard free <= now else {
                    do { try await Task.pause(for: now.duration(to: free)) } catch { return }
                    continue
                }
                let batch = follower.withSchedule { schedule in
                    // Before Redis is looked at: what is seen later proves nothing of the order.
                    schedule.due(at: now).map { ($0, schedule.versions(of: $0.key)) }
                }
                guard batch.isEmpty else {
                    state.withLock { $0.nextQuestion = max($0.nextQuestion, now).advanced(by: Self.questionPause) }
                    group.addTask { await self.check(batch) }
                    continue
                }
                let next = follower.withSchedule { $0.next }
                let pause = min(now.duration(to: next), Self.questionPause)
                do { try await Task.pause(for: max(pause, .milliseconds(1))) } catch { return }
            }
        }
    }

    /// When a question may be sent, for which the caller waits.
    private func turn() async throws {
        let at = state.withLock { state in
            let at = max(state.nextQuestion, .now)
            state.nextQuestion = at.advanced(by: Self.questionPause)
            return at
        }
        try await Task.pause(for: max(MonotonicInstant.now.duration(to: at), .zero))
    }

    /// Checks what is due; the first question may be sent.
    private func check(_ batch: [(check: ConsistencySchedule.Check, versions: [EntryVersion])]) async {
        var rest = batch
        var suspected: Set<Int> = []
        do {
            for number in 1...Self.mostLooks where !rest.isEmpty {
                let (instances, mute) = state.withLock { ($0.instances, $0.mute) }
                guard !instances.isEmpty else { break }
                if number > 1 { try await turn() }
                let keys = rest.map(\.check.key)
                let before = try await looks(at: keys)
                let asked = zip(keys, before).map { VersionQuestion($0.userKey ?? [], $1.version) }
                let answers = try await fleet.versions(of: asked, in: instances, within: Self.answerLimit, mute: mute)
                let silent = answers.filter { if case .none = $0.value { true } else { false } }
                state.withLock { $0.mute = Set(silent.keys) }
                let answered = MonotonicInstant.now
                let after = try await looks(at: keys)
                var again: [(check: ConsistencySchedule.Check, versions: [EntryVersion])] = []
                var doubted: Set<Int> = []
                for (index, item) in rest.enumerated() {
                    follower.withSchedule { schedule in
                        schedule.saw(before[index], of: item.check.key)
                        schedule.saw(after[index], of: item.check.key)
                    }
                    let isLast = number == Self.mostLooks
                    guard before[index].held == after[index].held else {
                        if isLast { count(\.unsettled, item.check) } else { again.append(item) }
                        continue
                    }
                    let judge = ConsistencyJudge(
                        check: item.check,
                        look: before[index],
                        versions: item.versions,
                        answered: answered
                    )
                    let results = results(of: judge, index, answers, instances)
                    if results.contains(where: \.isInconsistent), !suspected.contains(index), !isLast {
                        doubted.insert(again.count)
                        again.append(item)
                    } else {
                        settle(results, item.check, at: answered)
                    }
                }
                (rest, suspected) = (again, doubted)
            }
            if !rest.isEmpty { follower.withSchedule { $0.abandon(rest.count) } }
        } catch {
            let count = rest.count
            follower.withSchedule { $0.abandon(count) }
        }
    }

    private func looks(at keys: [InspectedKey]) async throws -> [KeyLook] {
        try await keys.concurrently { [inspector] in try await inspector.look(at: $0) }
    }

    /// What an instance has answered about a key.
    private struct Result: Sendable {
        let instance: FleetInstance
        let field: any WritableKeyPath<ConsistencyReport.Counts, Int> & Sendable
        var finding: Inconsistency?

        var isInconsistent: Bool { finding != nil }
    }

    private func results(
        of judge: ConsistencyJudge,
        _ index: Int,
        _ answers: [String: FleetInspector.Answer<VersionAnswer>],
        _ instances: [FleetInstance]
    ) -> [Result] {
        instances.map { instance in
            guard case .content(let answer)? = answers[instance.number] else {
                if case .unusable? = answers[instance.number] { return Result(instance: instance, field: \.unknown) }
                return Result(instance: instance, field: \.silent)
            }
            let found = answer.keys[index]
            switch judge.verdict(on: found, in: answer) {
            case .consistent: return Result(instance: instance, field: \.consistent)
            case .stale: return Result(instance: instance, field: \.stale)
            case .suspect: return Result(instance: instance, field: \.suspect)
            case .undecided: return Result(instance: instance, field: \.undecided)
            case .unknown: return Result(instance: instance, field: \.unknown)
            case .inconsistent(let stored, let cause):
                let name = instance.record?.name ?? ""
                let finding = Inconsistency(
                    key: judge.check.key.name,
                    keyBytes: judge.check.key.userKey ?? [],
                    instance: name.isEmpty ? instance.number : name,
                    delay: delays[judge.check.delay],
                    age: judge.check.heard.duration(to: judge.answered),
                    version: found.stamp,
                    stored: stored,
                    cause: cause
                )
                return Result(instance: instance, field: \.inconsistent, finding: finding)
            }
        }
    }

    private func count(
        _ field: WritableKeyPath<ConsistencyReport.Counts, Int>,
        _ check: ConsistencySchedule.Check
    ) {
        var counts = ConsistencyReport.Counts()
        counts[keyPath: field] = 1
        let at = elapsed
        state.withLock { $0.report.add(counts, delay: check.delay, at: at) }
    }

    /// Counts the outcome of a check, and tells what was found.
    private func settle(_ results: [Result], _ check: ConsistencySchedule.Check, at now: MonotonicInstant) {
        var counts = ConsistencyReport.Counts()
        for result in results { counts[keyPath: result.field] += 1 }
        let at = start.duration(to: now)
        let sum = counts
        state.withLock { $0.report.add(sum, delay: check.delay, at: at) }
        let findings = results.compactMap(\.finding)
        guard !findings.isEmpty else { return }
        let feeds = feeds.withLock { Array($0.open.values) }
        for finding in findings {
            for feed in feeds { feed.yield(finding) }
            log(finding)
        }
    }

    private let logged = Locked<(minute: MonotonicInstant, count: Int)>((.distantPast, 0))

    private func log(_ finding: Inconsistency) {
        guard let logger else { return }
        let mayLog = logged.withLock { logged in
            if logged.minute == .distantPast || logged.minute.duration(to: .now) > .seconds(60) { logged = (.now, 0) }
            logged.count += 1
            return logged.count <= 10
        }
        guard mayLog else { return }
        logger.warning(
            "memory is older than Redis",
            metadata: [
                "redis.key": "\(finding.key)", "instance": "\(PrintableText.escape(Array(finding.instance.utf8)))",
                "age": "\(finding.age)", "cause": "\(finding.cause)",
            ]
        )
    }
}

#if ServiceLifecycle
extension ConsistencyMonitor: Service {}
#endif
