extension CacheLevel {
    /// The value of a key; `nil` when no level has one.
    ///
    /// A hit in memory does not suspend.
    ///
    /// - Throws: The error of the last level that was asked; `CancellationError`.
    @inlinable
    public func get(_ key: Key) async throws -> Value? {
        var answers = ConditionAnswers()
        if let resident = resident(key, at: .coarse, &answers) { return resident.value }
        return try await missed(key, answers)
    }

    // A function of its own: inlined, it would make a hit save registers for the suspension.
    @inlinable
    @inline(never)
    func missed(_ key: Key, _ answers: ConditionAnswers) async throws -> Value? {
        if let joined = try await join(key, if: { true }) { return try joined.value }
        var request = ReadRequest()
        request.answers = answers
        return try await entry(for: key, request)?.value
    }

    /// The value of a key, read with options.
    ///
    /// - Throws: As ``get(_:)``. A read that may neither use what levels hold nor ask the source returns `nil` and does
    ///   not throw.
    public func get(_ key: Key, _ options: ReadOptions) async throws -> Value? {
        try await permitted(key, ReadRequest(options: options))?.value
    }

    /// The value of a key, with an account of where it was found and how long each step took.
    ///
    /// Costs a few allocations more than `get(_:)`.
    public func getWithTrace(
        _ key: Key,
        _ options: ReadOptions = .ordinary
    ) async throws -> (value: Value?, trace: ReadTrace) {
        try await traced(key, ReadRequest(options: options))
    }

    /// A read with its account.
    func traced(_ key: Key, _ request: ReadRequest) async throws -> (value: Value?, trace: ReadTrace) {
        let recorder = ReadTraceRecorder()
        var request = request
        request.recorder = recorder
        let start = MonotonicInstant.now
        let entry = try await permitted(key, request)
        let end = MonotonicInstant.now
        let judged = (clock ?? .system).now(at: end)
        return (entry?.value, recorder.trace(for: entry, at: judged, took: start.duration(to: end)))
    }

    /// The values of several keys in their order, with an account of each.
    ///
    /// Costs a few allocations a key more than `get(_:)`. Levels of your own that read several keys at once are left
    /// out of the accounts.
    public func getWithTrace(
        _ keys: [Key],
        _ options: ReadOptions = .ordinary
    ) async throws -> (values: [Value?], trace: BatchTrace) {
        let recorder = ReadTraceRecorder(for: keys)
        let request = ReadRequest(recorder: recorder, options: options)
        try TagLimits.check(options.tags)
        // A key that is named twice has one account.
        let single = keys.withoutRepetitions()
        let start = MonotonicInstant.now
        let found =
            request.spares(self)
            ? Array(repeating: nil, count: single.count)
            : try await entries(for: single, request).map { permitted($0, options) }
        let duration = start.duration(to: .now)
        let judged = (clock ?? .system).now
        var results: [Key: (value: Value?, trace: ReadTrace)] = [:]
        for (key, entry) in zip(single, found) {
            let own = recorder.part(of: key) ?? recorder
            results[key] = (entry?.value, own.trace(for: entry, at: judged, took: duration))
        }
        let ordered = keys.compactMap { results[$0] }
        return (ordered.map(\.value), BatchTrace(traces: ordered.map(\.trace), duration: duration))
    }

    /// The value of a key, or an error where `get(_:)` returns `nil`.
    ///
    /// - Throws: ``CacheError/Code/miss`` when there is no value; else as `get(_:)`.
    public func require(_ key: Key) async throws -> Value {
        guard let value = try await get(key) else { throw CacheError.missing }
        return value
    }

    /// The values of several keys in their order, `nil` where there is none.
    public func get(_ keys: [Key], _ options: ReadOptions = .ordinary) async throws -> [Value?] {
        try await values(of: keys, ReadRequest(options: options))
    }

    /// The values of several keys in their order.
    func values(of keys: [Key], _ request: ReadRequest) async throws -> [Value?] {
        let options = request.options
        try TagLimits.check(options.tags)
        guard !request.spares(self) else { return Array(repeating: nil, count: keys.count) }
        let entries = try await entries(for: keys, request)
        guard options.forbidsSome else { return entries.map { $0?.value } }
        return entries.map { permitted($0, options)?.value }
    }

    /// Sets a value in this level and those below it.
    ///
    /// Its lifetime is that of each level's policy.
    ///
    /// - Throws: The error of the level that failed, after all levels were tried.
    @inlinable
    public func set(_ value: Value, for key: Key) async throws {
        _ = try await commit(Entry(value: value), for: key)
    }

    /// Sets a value in this level and those below it.
    ///
    /// - Parameters:
    /// - value: The value.
    ///   - key: Its key.
    ///   - lifetime: How long the value is fresh and kept; a freshness of zero or less removes the key.
    ///   - tags: The tags by which the value can be invalidated.
    /// - Throws: The error of the level that failed, after all levels were tried.
    public func set(_ value: Value, for key: Key, lifetime: EntryLifetime, tags: [String] = []) async throws {
        try TagLimits.check(tags)
        guard !lifetime.isNone else {
            return try await UncachedWrite.$value.withValue(value) { try await remove(key) }
        }
        var entry = Entry(.value(value), tags: tags)
        entry.live(for: lifetime, by: policy, fingerprint: fingerprint(of: key), from: (clock ?? .system).now)
        _ = try await commit(entry, for: key)
    }

    /// Forgets everything in this level and those below it.
    public func clear() async throws {
        try await removeAll()
    }

    /// The entry; `nil` when the level is a source and the options forbid to ask it, or they forbid to return what it
    /// has.
    func permitted(_ key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if request.options.fetchOptions != nil { try TagLimits.check(request.options.tags) }
        return request.spares(self) ? nil : permitted(try await entry(for: key, request), request.options)
    }

    /// The entry, unless the options forbid to return it.
    private func permitted(_ entry: Entry<Value>?, _ options: ReadOptions) -> Entry<Value>? {
        guard let entry, options.forbidsSome else { return entry }
        let now = (clock ?? .system).now
        // A value that the source has just given is current, whatever its lifetime and its age.
        guard entry.origin != .source else { return entry }
        if options.staleness == .never, !entry.isFresh(at: now) || entry.isSuspect { return nil }
        if let longest = options.maximumAge, entry.age(at: now).map({ $0 > longest }) ?? true { return nil }
        return entry
    }
}

extension CacheError {
    @usableFromInline static var missing: CacheError { CacheError(code: .miss, message: "no level has the key") }
}

extension ReadOptions {
    /// Whether the options forbid to return some entries of a level.
    fileprivate var forbidsSome: Bool { staleness == .never || maximumAge != nil }
}
