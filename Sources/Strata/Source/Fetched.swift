/// The result of asking a source.
package struct Fetched<Value: Sendable>: Sendable {
    /// What levels do with the result.
    package enum Use: Sendable {
        case keep
        /// The old entry, with a new lifetime.
        case extend
        /// Return it to the caller and keep it nowhere.
        case handOut
    }

    /// The entry; `nil` for none.
    package var entry: Entry<Value>?
    package var use: Use
    /// When the source was asked, by the clock of lifetimes.
    package var begunAt = MonotonicInstant.distantPast
}

/// Closures that ask a source, for one key or for several.
package struct Fetch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Asks for one key.
    package typealias One = @Sendable (Key, FetchContext<Value>) async throws -> FetchOutcome<Value>
    /// Asks for several keys.
    package typealias Several = @Sendable ([Key: FetchContext<Value>]) async throws -> [Key: FetchOutcome<Value>]
    /// The part of one key in a fetch of several.
    package typealias Slot = FetchRound<Key, Question, Answer>.Slot

    /// What is asked for a key.
    package struct Question: Sendable {
        let context: FetchContext<Value>
        /// Called when the source is asked.
        let began: @Sendable () -> Void
    }

    /// What the source has answered for a key, and when.
    package struct Answer: Sendable {
        let outcome: FetchOutcome<Value>
        /// When the source was asked, and when it had answered, by the system's clock.
        let start, end: MonotonicInstant
        /// How long that took, by the clock of lifetimes.
        let took: Duration
        /// When it was over, by that clock.
        let now: MonotonicInstant
    }

    private let one: One?
    private let several: Several?
    private let policy: Adjustable<FreshnessPolicy>
    /// The clock of lifetimes and of the durations of fetches.
    package let clock: CacheClock
    /// Counts the fetches.
    package let meter = FetchMeter()

    package init(_ policy: Adjustable<FreshnessPolicy>, clock: CacheClock = .current, _ one: @escaping One) {
        self.one = one
        several = nil
        self.policy = policy
        self.clock = clock
    }

    /// No source but those that calls bring.
    package init(perCall policy: Adjustable<FreshnessPolicy>, clock: CacheClock = .current) {
        one = nil
        several = nil
        self.policy = policy
        self.clock = clock
    }

    /// Whether there is no source but those that calls bring.
    package var isPerCall: Bool { one == nil }

    /// A key that is missing in the answer has no value.
    ///
    /// Keys in it that were not asked for are ignored.
    package init(
        _ policy: Adjustable<FreshnessPolicy>,
        clock: CacheClock = .current,
        several: @escaping Several
    ) {
        one = { key, context in try await several([key: context])[key] ?? .absent() }
        self.several = several
        self.policy = policy
        self.clock = clock
    }

    /// Slots for several keys in one fetch.
    ///
    /// - Parameters:
    ///   - count: The number of keys.
    ///   - limiter: Has room for the fetch.
    ///   - batch: The call's own source, which is asked instead.
    /// - Returns: A slot for each key; `nil` when keys are fetched one by one.
    package func slots(_ count: Int, _ limiter: FetchLimiter, for batch: CallBatch<Key, Value>? = nil) -> [Slot]? {
        guard let several = batch?.fetch ?? several, count > 1 else { return nil }
        let round = FetchRound<Key, Question, Answer>(slots: count) { asked in
            try await limiter.run { try await answers(to: asked, by: several) }
        }
        return (0..<count).map { _ in round.slot() }
    }

    /// Asks for several keys by one call, in which each of them is fetched.
    ///
    /// - Throws: `CancellationError` where the call has failed because its task was cancelled.
    private func answers(to asked: [(Key, Question)], by several: Several) async throws -> [Key: Answer] {
        let start = MonotonicInstant.now
        let begin = clock.now(at: start)
        for (key, question) in asked {
            meter.begin(key)
            question.began()
        }
        let contexts = Dictionary(asked.map { ($0, $1.context) }) { first, _ in first }
        let found: Result<[Key: FetchOutcome<Value>], any Error> = await Result {
            // It belongs to the first read.
            try await asked.first?.1.context.recorder.inScope { try await several(contexts) } ?? [:]
        }
        var all: [Key: Answer] = [:]
        for (key, _) in asked {
            let outcome = FetchOutcome<Value>(found.map { $0[key] ?? .absent() })
            all[key] = ended(key, outcome, from: start, begin)
        }
        if case .failure = found { try Task.checkCancellation() }
        return all
    }

    /// Asks the source.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - fingerprint: The key's fingerprint, which picks the key's share of the jitter.
    ///   - old: The entry that the answer replaces.
    ///   - recorder: Notes how long the fetch took.
    ///   - slot: The key's part in a fetch of several, which takes room once for all of its keys.
    ///   - limiter: Has room for a fetch of this key alone; `nil` needs none.
    ///   - callSource: The call's own source, which is asked instead.
    ///   - options: The read's own tags and lifetime.
    ///   - began: Called when the source is asked; with a slot that may be later, or never.
    /// - Returns: What levels do with the answer.
    /// - Throws: ``SourceFailure``; `CancellationError` when the task was cancelled.
    package func callAsFunction(
        _ key: Key,
        fingerprint: UInt64,
        old: Entry<Value>?,
        _ recorder: ReadTraceRecorder?,
        _ slot: Slot? = nil,
        within limiter: FetchLimiter? = nil,
        for callSource: CallSource<Value>? = nil,
        _ options: ReadOptions = .ordinary,
        began: @escaping @Sendable () -> Void = {}
    ) async throws -> Fetched<Value> {
        // The age of the old value is that at which the source is asked.
        func question() -> Question {
            Question(context: FetchContext(old: old, at: clock.now, recorder: recorder), began: began)
        }
        let shared: Answer?
        let asked = slot == nil || recorder == nil ? .distantPast : MonotonicInstant.now
        do {
            shared = try await slot?.ask(key, question())
        } catch {
            try Task.checkCancellation()
            recorder?.failed(error, at: .source, from: asked)
            throw SourceFailure(error)
        }
        let answer =
            if let shared {
                shared
            } else if let limiter {
                try await limiter.run { await self.answer(to: question(), for: key, callSource) }
            } else {
                await self.answer(to: question(), for: key, callSource)
            }
        let outcome = answer.outcome
        if let error = outcome.failure {
            try Task.checkCancellation()
            recorder?.failed(error, at: .source, from: answer.start)
        } else {
            recorder?.step(.fetched, at: .source, from: answer.start, to: answer.end)
        }
        let tenant = (key as? any TenantScoped)?.tags(within: nil)
        var fetched = try fetched(
            tenant.map { outcome.scoped(by: $0) } ?? outcome,
            fingerprint: fingerprint,
            old: old,
            took: answer.took,
            at: answer.now,
            tenant.map { options.scoped(by: $0) } ?? options,
            of: tenant
        )
        fetched.begunAt = answer.now.advanced(by: .zero - answer.took)
        return fetched
    }

    /// Asks for one key.
    private func answer(to question: Question, for key: Key, _ callSource: CallSource<Value>?) async -> Answer {
        let start = MonotonicInstant.now
        let begin = clock.now(at: start)
        meter.begin(key)
        question.began()
        let context = question.context
        let found: Result<FetchOutcome<Value>, any Error> = await Result {
            try await context.recorder.inScope({ try await ask(key, context, callSource) }, failure: \.failure)
        }
        return ended(key, FetchOutcome<Value>(found), from: start, begin)
    }

    /// Counts the end of a key's fetch.
    ///
    /// Without success in a cancelled task it has not failed. A source may then throw any error: HTTP clients and
    /// drivers have cancellation errors of their own.
    private func ended(
        _ key: Key,
        _ outcome: FetchOutcome<Value>,
        from start: MonotonicInstant,
        _ begin: MonotonicInstant
    ) -> Answer {
        let end = MonotonicInstant.now
        if let error = outcome.failure {
            let isFailure = !Task.isCancelled
            meter.end(key, with: isFailure ? error : CancellationError(), from: start, isFailure: isFailure)
        } else {
            meter.end(key, from: start, to: end)
        }
        let now = clock.now(at: end)
        return Answer(outcome: outcome, start: start, end: end, took: begin.duration(to: now), now: now)
    }

    private func ask(
        _ key: Key,
        _ context: FetchContext<Value>,
        _ callSource: CallSource<Value>?
    ) async throws -> FetchOutcome<Value> {
        if let callSource { return try await callSource.fetch(context) }
        return try await one?(key, context) ?? .doNotStore(nil)
    }

    /// The entry that the policy makes of an outcome.
    ///
    /// - Throws: ``SourceFailure``.
    package func fetched(
        _ outcome: FetchOutcome<Value>,
        fingerprint: UInt64,
        old: Entry<Value>?,
        took duration: Duration,
        at now: MonotonicInstant,
        _ options: ReadOptions = .ordinary,
        of tenant: TenantTags? = nil
    ) throws -> Fetched<Value> {
        func entry(
            _ content: Entry<Value>.Content,
            _ lifetime: EntryLifetime,
            _ tags: [String] = [],
            _ use: Fetched<Value>.Use = .keep
        ) -> Fetched<Value> {
            var entry = Entry(content, tags: tags, fetchDuration: duration)
            guard !lifetime.isNone else {
                entry.ticket = .void
                return Fetched(entry: entry, use: .handOut)
            }
            entry = policy.value.stamping(entry, fingerprint: fingerprint, lifetime, at: now)
            return Fetched(entry: entry, use: use)
        }
        switch outcome {
        case .value(let value, let lifetime, let tags):
            return entry(.value(value), options.lifetime(over: lifetime), options.tags(with: tags))
        case .absent(let lifetime, let tags):
            guard lifetime.freshFor ?? policy.value.absentFor > .zero else { return Fetched(entry: nil, use: .handOut) }
            return entry(.absent, lifetime, options.tags(with: tags))
        case .notModified(let lifetime):
            guard let old else {
                let message = "the source says that the value has not changed, but there is no value"
                throw SourceFailure(CacheError(code: .notModified, message: message))
            }
            // A value that was set past a tenant's part does not bear its tag yet.
            let tags = options.tags(with: tenant?.stored(old.tags) ?? old.tags)
            let wanted = old.value == nil ? lifetime : options.lifetime(over: lifetime)
            // With other tags it is written anew: in a level, the tags are stored before the value.
            return entry(old.content, wanted, tags, tags == old.tags ? .extend : .keep)
        case .doNotStore(let value):
            guard let value else { return Fetched(entry: nil, use: .handOut) }
            return entry(.value(value), EntryLifetime(freshFor: .zero))
        case .failure(let error, let retryAfter): throw SourceFailure(error, retryAfter: retryAfter)
        }
    }
}

extension FetchOutcome {
    /// What was answered or thrown.
    fileprivate init(_ found: Result<FetchOutcome, any Error>) {
        switch found {
        case .success(let outcome): self = outcome
        case .failure(let error): self = .failure(error)
        }
    }

    /// The error of an outcome that is one.
    fileprivate var failure: (any Error)? {
        guard case .failure(let error, _) = self else { return nil }
        return error
    }
}

extension ReadOptions {
    /// The lifetime of a value that was fetched: what the read says, where it says something.
    fileprivate func lifetime(over other: EntryLifetime) -> EntryLifetime {
        guard let wanted = fetchOptions?.lifetime else { return other }
        return EntryLifetime(freshFor: wanted.freshFor ?? other.freshFor, staleFor: wanted.staleFor ?? other.staleFor)
    }

    /// The tags of what was fetched, with those of the read.
    fileprivate func tags(with others: [String]) -> [String] {
        guard let wanted = fetchOptions?.tags, !wanted.isEmpty else { return others }
        return others + wanted.filter { !others.contains($0) }
    }
}
