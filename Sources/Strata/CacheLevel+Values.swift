extension CacheLevel {
    /// The value of a key; `nil` when there is none anywhere.
    ///
    /// A hit in memory does not suspend.
    ///
    /// - Throws: What the level that was asked last has thrown; `CancellationError`.
    @inlinable
    public func get(_ key: Key) async throws -> Value? {
        var answers = ConditionAnswers()
        if let resident = resident(key, at: .coarse, &answers) { return resident.value }
        return try await missed(key, answers)
    }

    // By itself, or a hit would have to keep what is needed after a suspension.
    @inlinable
    @inline(never)
    func missed(_ key: Key, _ answers: ConditionAnswers) async throws -> Value? {
        if let joined = try await join(key, if: { true }) { return try joined.value }
        var request = ReadRequest()
        request.answers = answers
        return try await entry(for: key, request)?.value
    }

    /// The value of a key, read as the options say.
    ///
    /// - Throws: As ``get(_:)``. A read that must not use what there is, and may not ask the source, is a miss and no error.
    public func get(_ key: Key, _ options: ReadOptions) async throws -> Value? {
        try await permitted(wanted(key, ReadRequest(options: options)), options)?.value
    }

    /// The value of a key, with an account of where it was found and what it took.
    ///
    /// Costs some allocations more than `get(_:)`.
    public func getWithTrace(
        _ key: Key,
        _ options: ReadOptions = .ordinary
    ) async throws -> (value: Value?, trace: ReadTrace) {
        let recorder = ReadTraceRecorder()
        let start = MonotonicInstant.now
        let entry = permitted(
            try await wanted(key, ReadRequest(recorder: recorder, options: options)),
            options
        )
        let end = MonotonicInstant.now
        return (entry?.value, recorder.trace(for: entry, start: start, end: end))
    }

    /// The value of a key, or an error where `get(_:)` returns `nil`.
    ///
    /// - Throws: ``CacheError/Code/miss`` when there is no value; else as `get(_:)`.
    public func require(_ key: Key) async throws -> Value {
        guard let value = try await get(key) else { throw CacheError(code: .miss, message: "no level has the key") }
        return value
    }

    /// The values of several keys in their order, `nil` where there is none.
    public func get(_ keys: [Key], _ options: ReadOptions = .ordinary) async throws -> [Value?] {
        let request = ReadRequest(options: options)
        guard !request.spares(self) else { return Array(repeating: nil, count: keys.count) }
        return try await entries(for: keys, request).map { permitted($0, options)?.value }
    }

    /// Sets a value in this level and those below it.
    ///
    /// Its lifetime is the level's own.
    ///
    /// - Throws: What failed, after all levels were tried.
    @inlinable
    public func set(_ value: Value, for key: Key) async throws {
        _ = try await commit(Entry(value: value), for: key)
    }

    /// Sets a value in this level and those below it.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Its key.
    ///   - lifetime: How long it is good for; with a freshness of zero or less the key is removed.
    ///   - tags: By what it can be invalidated together with others.
    /// - Throws: What failed, after all levels were tried.
    public func set(_ value: Value, for key: Key, lifetime: EntryLifetime, tags: [String] = []) async throws {
        try TagLimits.check(tags)
        guard !lifetime.isNone else { return try await remove(key) }
        var entry = Entry(.value(value), tags: tags)
        if let freshFor = lifetime.freshFor {
            let now = MonotonicInstant.now
            entry.freshUntil = now.advanced(by: min(freshFor, EntryLifetime.longest))
            let staleFor = min(max(lifetime.staleFor ?? .zero, .zero), EntryLifetime.longest)
            entry.staleUntil = entry.freshUntil.advanced(by: staleFor)
            entry.refreshAt = entry.freshUntil
            entry.revalidateUntil = entry.freshUntil
            entry.storedAt = now
        }
        _ = try await commit(entry, for: key)
    }

    /// Forgets everything in this level and those below it.
    public func clear() async throws {
        try await removeAll()
    }

    /// The entry, unless this is a source that is not to be asked.
    private func wanted(_ key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        request.spares(self) ? nil : try await entry(for: key, request)
    }

    /// What a read with such options may return of what the lowest level had.
    private func permitted(_ entry: Entry<Value>?, _ options: ReadOptions) -> Entry<Value>? {
        guard let entry, options.staleness == .never || options.maximumAge != nil else { return entry }
        let now = MonotonicInstant.now
        if options.staleness == .never, !entry.isFresh(at: now) || entry.isSuspect { return nil }
        // The source has just given it, whatever its clock says.
        if entry.origin != .source, let longest = options.maximumAge, entry.age(at: now).map({ $0 > longest }) ?? true {
            return nil
        }
        return entry
    }
}
