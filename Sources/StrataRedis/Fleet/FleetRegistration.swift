internal import Logging
internal import Strata

/// One cache of an instance as the fleet knows it: its record, and its answers.
final class FleetRegistration: ServerKeyKeeper {
    /// How long an answer waits to be read.
    static let answerLifetime: Duration = .seconds(10)

    private struct State: Sendable {
        /// When the instance was listed first.
        var begin: MonotonicInstant?
        var cursor = "0"
        var hasFailed = false
        /// Hears the questions while it runs.
        var listener: FleetListener?
        /// Whether the member has let go of it.
        var isRemoved = false
    }

    private let redis: RedisClient
    let keyspace: Keyspace
    private let interval: Duration
    private let logger: Logger?
    private let label: @Sendable () -> LevelLabel
    private let find: @Sendable ([UInt8]) -> MemoryFinding
    /// Hears of changes made elsewhere; `nil` for a level without a link.
    private let coherence: KeyspaceCoherence?
    private let trail: Locked<ChangeTrail>
    /// The keys in memory with the most recent hits; `nil` without memory.
    private let mostHit: @Sendable (Int) -> [[UInt8]]?
    /// The keys that memory would keep longest.
    private let hottest: @Sendable (Int) -> [[UInt8]]?
    private let warmer: KeyWarmer
    private let number = QuestionNumber()
    private let state = Locked(State())
    private let durations = Locked<[String: DurationWindow]>([:])

    init(
        _ redis: RedisClient,
        _ keyspace: Keyspace,
        _ coherence: KeyspaceCoherence?,
        interval: Duration,
        logger: Logger?,
        warmer: KeyWarmer,
        label: @escaping @Sendable () -> LevelLabel,
        find: @escaping @Sendable ([UInt8]) -> MemoryFinding,
        mostHit: @escaping @Sendable (Int) -> [[UInt8]]?,
        hottest: @escaping @Sendable (Int) -> [[UInt8]]?
    ) {
        self.redis = redis
        self.keyspace = keyspace
        self.interval = interval
        self.logger = logger
        self.label = label
        self.find = find
        self.coherence = coherence
        trail = Locked(ChangeTrail(at: .now))
        self.mostHit = mostHit
        self.hottest = hottest
        self.warmer = warmer
        redis.clock.moved?.ask(self)
    }

    /// The list of instances, and this one's record.
    func keysKept(until running: MonotonicInstant) -> [[UInt8]] {
        [keyspace.instances.bytes, keyspace.record(of: number.text).bytes]
    }

    /// Whether it was ended by ``end()``.
    var isRemoved: Bool { state.withLock { $0.isRemoved } }

    /// Ends ``run()`` now, and for good.
    func end() {
        let listener = state.withLock { state in
            state.isRemoved = true
            return state.listener
        }
        listener?.finish()
    }

    /// Until the task is cancelled, or ``end()`` is called.
    func run() async {
        let listener = FleetListener(of: number)
        let isRemoved = state.withLock { state in
            state.listener = listener
            return state.isRemoved
        }
        guard !isRemoved else { return }
        redis.cache.ownNumbers.withLock { _ = $0.insert(number.text) }
        let answering = redis.cache.tell(listener, of: keyspace)
        defer {
            redis.cache.ownNumbers.withLock { _ = $0.remove(number.text) }
            redis.cache.tellNoMore(answering)
            listener.finish()
        }
        trail.withLock { $0 = ChangeTrail(at: .now) }
        let observer = coherence?.addObserver { [self] change in trail.withLock { $0.note(change, at: .coarse) } }
        defer { if let observer { coherence?.removeObserver(observer) } }
        let sources = Set(label().nodes.flatMap(\.label.durations))
        let numbers = sources.map { source in (source, source.add { [self] work, time, _ in record(work, time) }) }
        defer { for (source, number) in numbers { source.remove(number) } }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepListed() }
            for await (question, number) in listener.questions {
                guard case .warm(let warming) = question else {
                    await answer(question, number)
                    continue
                }
                // Other questions do not wait for it.
                group.addTask { await self.answer(number, with: await self.warmer.warm(warming.keys).bytes) }
            }
            group.cancelAll()
        }
    }

    private func record(_ work: WorkDurations.Work, _ nanoseconds: Int64) {
        let kind =
            switch work {
            case .fetch: "fetch"
            case .wait: "wait"
            case .call: "call"
            }
        let now = MonotonicInstant.now
        durations.withLock { $0[kind, default: DurationWindow(at: now)].add(nanoseconds, at: now) }
    }

    private func figures(hottest: [String]? = nil) -> InstanceRecord {
        let now = MonotonicInstant.now
        let begin = state.withLock { state in
            if state.begin == nil { state.begin = now }
            return state.begin ?? now
        }
        let durations = durations.withLock { windows in
            var durations: [String: InstanceRecord.Durations] = [:]
            for kind in windows.keys { durations[kind] = windows[kind]?.durations(at: now) }
            return durations
        }
        return InstanceRecord(
            name: redis.configuration.instanceName,
            uptime: begin.duration(to: now),
            link: redis.cache.refusal,
            label: label(),
            durations: durations,
            hottest: hottest,
            numbers: coherence?.numbers
        )
    }

    // MARK: The list

    private func keepListed() async {
        do {
            while true {
                try await list()
                // Instances that were started together do not write together for ever.
                try await Task.pause(for: interval * Double.random(in: 0.8...1))
            }
        } catch {}
    }

    /// Writes the record.
    ///
    /// - Throws: `CancellationError`.
    func list() async throws {
        do {
            let isListed = try await register(figures().bytes)
            note(isListed ? nil : "too many instances are listed")
        } catch let error as RedisError {
            note(error.description)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            note("\(error)")
        }
    }

    private func register(_ record: [UInt8]) async throws -> Bool {
        let reply = try await redis.run(
            FleetScripts.register,
            keys: [keyspace.instances, keyspace.record(of: number.text)],
            arguments: [
                Array(number.text.utf8), Array(String((interval * 3).saturatedNanoseconds / 1_000_000).utf8),
                Array(state.withLock { $0.cursor }.utf8), record,
            ],
            repetition: .repeatable
        )
        guard case .array(let parts) = reply, parts.count == 2, let cursor = parts[0].cursor else { return false }
        state.withLock { $0.cursor = String(cursor) }
        return parts[1].integer == 1
    }

    /// Logs once that the instance cannot be listed, and once that it can again.
    private func note(_ failure: String?) {
        let isNews = state.withLock { state in
            defer { state.hasFailed = failure != nil }
            return state.hasFailed != (failure != nil)
        }
        guard isNews, let logger else { return }
        let metadata: Logger.Metadata = ["redis.endpoint": "\(redis.configuration.place)"]
        guard let failure else { return logger.info("the instance is listed", metadata: metadata) }
        logger.warning("the instance cannot be listed", metadata: metadata.merging(["error": "\(failure)"]) { $1 })
    }

    /// Takes the instance off the list.
    func leave() async {
        let record = keyspace.record(of: number.text)
        let field = [Array("HDEL".utf8), keyspace.instances.bytes, Array(number.text.utf8)]
        await concurrently { [redis] in
            _ = try? await redis.send(field, repeatable: true)
        } and: {
            _ = try? await redis.unlink([record], repeatable: true)
        }
    }

    // MARK: Answers

    private func answer(_ question: FleetQuestion, _ asked: QuestionNumber) async {
        switch question {
        case .key(let key): await answer(asked, with: find(key).finding.bytes)
        case .versions(let keys): await answer(asked, with: versions(of: keys).bytes)
        case .figures(let most):
            let keys = most == 0 ? nil : mostHit(most)?.map { PrintableText.escape($0) }
            await answer(asked, with: figures(hottest: keys).bytes)
        case .hottest(let most, _): await answer(asked, with: HottestKeys(hottest(most) ?? []).bytes)
        case .warm: break
        }
    }

    private func answer(_ asked: QuestionNumber, with bytes: [UInt8]) async {
        // The asking side then hears nothing, and says so.
        _ = try? await redis.set(
            keyspace.answer(to: asked.text, of: number.text),
            bytes,
            expiringIn: Self.answerLifetime,
            repeatable: true
        )
    }

    private func versions(of keys: [VersionQuestion]) -> VersionAnswer {
        let found = keys.map { find($0.key) }
        // Afterwards: a change that came meanwhile is in it.
        let trail = trail.withLock { $0 }
        let now = MonotonicInstant.now
        return VersionAnswer(
            zip(keys, found)
                .map { asked, found in
                    let name = keyspace.names(for: asked.key).value
                    return .init(
                        found,
                        heard: found.isServed(beside: asked.version) ? trail.changes(of: name, at: now) : nil
                    )
                },
            trail,
            isTold: coherence != nil,
            link: redis.cache.refusal,
            at: now
        )
    }
}
