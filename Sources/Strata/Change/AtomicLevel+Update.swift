extension AtomicLevel {
    /// Changes the value of a key without losing a concurrent change.
    ///
    /// ```swift
    /// try await counters.update("visits") { old in (old ?? 0) + 1 }
    /// ```
    ///
    /// Reads the key at the lowest level that keeps entries (Redis, or a disk, or memory alone), runs the closure, and
    /// stores what it returns unless the key has changed since; otherwise it pauses for a moment and begins anew. So
    /// the closure may run several times, and should do nothing but return the new value. Sources are not asked: an
    /// expired, invalidated or missing record, or a remembered absence, is `nil`.
    ///
    /// Two round trips to Redis, or a read and a write on disk, and the same again after each conflict; two more to
    /// Redis where the new value lacks a tag of the old one.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - lifetime: How long the new value is fresh and kept; `nil` keeps the rest of the old value's lifetime, or
    ///     takes the policy's where there is no old value. A freshness of zero or less removes the key.
    ///   - tags: The tags of the new value; `nil` keeps the old one's.
    ///   - limit: How long to begin anew after conflicts; 2 s by default. The first attempt is made in any case, and
    ///     the closure's own time counts.
    ///   - change: From the old value to the new one; `nil` removes the key, or leaves it absent.
    /// - Returns: What the closure has returned.
    /// - Throws: ``CacheError/Code/conflict`` when others have changed the key in each attempt;
    ///   ``CacheError/Code/outcomeUnknown`` when the change may have been made or not; a repeated attempt may then make
    ///   it twice; ``CacheError/Code/invalidTags``; ``CacheError/Code/notUpdatable`` where no level keeps entries; what
    ///   the closure throws; the error of the level, and then nothing was changed; `CancellationError`, which does not
    ///   say whether anything was changed.
    @discardableResult
    public func update(
        _ key: Key,
        lifetime: EntryLifetime? = nil,
        tags: [String]? = nil,
        within limit: Duration = .seconds(2),
        _ change: (Value?) async throws -> Value?
    ) async throws -> Value? {
        let succession = Succession(lifetime: lifetime.map { .named($0) } ?? .kept, tags: tags)
        return try await update(key, succession, within: limit, change)
    }

    /// Sets a value in place of any other, with the rest of the other's freshness; a stale value counts as none.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Its key.
    ///   - lifetime: How long the value lives where there is no other.
    ///   - limit: How long to begin anew after conflicts.
    /// - Throws: As ``update(_:lifetime:tags:within:_:)``.
    package func replace(
        _ value: Value,
        for key: Key,
        orLiving lifetime: EntryLifetime,
        within limit: Duration = .seconds(2)
    ) async throws {
        let succession = Succession(lifetime: .keptWhileFresh, first: lifetime)
        _ = try await update(key, succession, within: limit) { _ in value }
    }

    func update(
        _ key: Key,
        _ succession: Succession,
        within limit: Duration,
        _ change: (Value?) async throws -> Value?
    ) async throws -> Value? {
        try await decide(key, succession, within: limit) { found in
            let old = found?.value
            let new = try await change(old)
            // A remembered absence stays one.
            return new == nil && old == nil ? .leave(nil) : .put(new, new)
        }
    }

    /// Asks what to do with a key, and does it unless the key has changed meanwhile; then asks again.
    func decide<Answer>(
        _ key: Key,
        _ succession: Succession,
        within limit: Duration,
        _ decision: (Entry<Value>?) async throws -> Decision<Value, Answer>
    ) async throws -> Answer {
        if let tags = succession.tags { try TagLimits.check(tags) }
        return try await repeating(within: limit) {
            guard let found = try await unlessChanged({ try await current(key) }) else { return nil }
            guard let found else { throw CacheError.notUpdatable }
            switch try await decision(found.entry) {
            case .leave(let answer): return .some(answer)
            case .put(let new, let answer):
                let entry = new.flatMap { value in
                    succession.entry(of: value, after: found.entry, found.mark) {
                        $0.live(for: $1, by: policy, fingerprint: fingerprint(of: key), from: (clock ?? .system).now)
                    }
                }
                try Task.checkCancellation()
                let stored: Ticket?? = try await unlessChanged { try await exchange(entry, for: key, if: found.mark) }
                return stored == nil ? nil : .some(answer)
            }
        }
    }

    /// The entry that was found below, as memory has it: a codec need not restore exactly the same value.
    func entryAbove(_ key: Key, as found: Entry<Value>?) async -> Entry<Value>? {
        guard let found, found.version != .none else { return nil }
        let options = ReadOptions(staleness: .allowed, source: .never, skipsReading: [.redis, "disk"])
        guard let own = try? await entry(for: key, ReadRequest(options: options)), own.version == found.version else {
            return nil
        }
        return own
    }

    /// Runs a body until it returns something, with pauses.
    func repeating<Answer>(within limit: Duration, _ body: () async throws -> Answer?) async throws -> Answer {
        var attempts = Attempts(within: limit)
        while true {
            if let answer = try await body() { return answer }
            try await attempts.pause()
        }
    }

    /// What `body` returns; `nil` when the key has changed meanwhile.
    func unlessChanged<Result>(_ body: () async throws -> Result) async throws -> Result? {
        do {
            return try await body()
        } catch let error as CacheError where error.code == .conflict {
            return nil
        }
    }
}

/// What to do with a key, and what to return to the caller.
enum Decision<Value: Sendable, Answer> {
    /// It stays as it is.
    case leave(Answer)
    /// It gets that value, or is removed.
    case put(Value?, Answer)
}

/// The attempts of one update, and the pauses between them.
private struct Attempts {
    private static let longestPause = 64.0

    private let start = MonotonicInstant.now
    private let end: MonotonicInstant
    private let limit: Duration
    private var count = 0
    /// The longest next pause, in milliseconds.
    private var next = 1.0

    init(within limit: Duration) {
        self.limit = limit
        end = start.advanced(by: min(max(limit, .zero), EntryLifetime.longest))
    }

    /// Waits for a random part of a time that doubles.
    ///
    /// - Throws: ``CacheError/Code/conflict`` when the time is over; `CancellationError`.
    mutating func pause() async throws {
        count += 1
        let pause = Duration.milliseconds(next * Double.random(in: 0...1))
        guard MonotonicInstant.now.advanced(by: pause) < end else {
            throw CacheError(
                code: .conflict,
                message: "others changed the key in each of \(count) attempts within \(limit)"
            )
        }
        next = min(2 * next, Self.longestPause)
        try await Task.pause(for: pause)
    }
}

/// How the entry of an update is made from the one before.
struct Succession: Sendable {
    /// How long a changed entry lives.
    enum Lifetime: Sendable {
        /// As long as the old one would have.
        case kept
        /// As long as the old one would have, if it is fresh.
        case keptWhileFresh
        /// As long as the whole lifetime of the old one, beginning anew.
        case restarted
        /// As long as that.
        case named(EntryLifetime)

        /// Whether the lifetime of an old entry goes on.
        fileprivate func takes<Value>(_ old: Entry<Value>, at now: MonotonicInstant) -> Bool {
            if case .keptWhileFresh = self { old.isFresh(at: now) } else { true }
        }
    }

    var lifetime: Lifetime
    /// The tags; `nil` for those of the old entry.
    var tags: [String]?
    /// How long an entry lives that has no predecessor.
    var first = EntryLifetime.byPolicy

    /// The new entry.
    ///
    /// - Parameters:
    ///   - value: The new value.
    ///   - old: The entry before; `nil` for none.
    ///   - mark: What was read with that.
    ///   - date: Gives an entry that lifetime from now on.
    /// - Returns: The entry; `nil` when no level may keep it.
    func entry<Value>(
        of value: Value,
        after old: Entry<Value>?,
        _ mark: ChangeMark,
        date: (inout Entry<Value>, EntryLifetime) -> Void
    ) -> Entry<Value>? {
        var entry = Entry<Value>(.value(value), version: .random(), tags: tags ?? old?.tags ?? [], asOf: mark.asOf)
        entry.hasNewVersion = true
        // An absence has a lifetime of its own, which does not hold for a value.
        let old = old?.value == nil ? nil : old
        switch lifetime {
        case .named(let lifetime):
            guard !lifetime.isNone else { return nil }
            date(&entry, lifetime)
        case .kept, .keptWhileFresh:
            guard let old, lifetime.takes(old, at: mark.takenAt) else {
                guard !first.isNone else { return nil }
                date(&entry, first)
                break
            }
            entry.live(as: old, later: .zero)
        case .restarted:
            // Without an end the policy gives one anew, and so it does where the old length is not known.
            guard let old, old.freshUntil != .distantFuture, old.storedAt != .distantPast else {
                guard !first.isNone else { return nil }
                date(&entry, first)
                break
            }
            entry.live(as: old, later: old.storedAt.duration(to: mark.takenAt))
        }
        return entry
    }
}

extension Entry {
    /// Takes the lifetime of an older entry, moved by some time.
    fileprivate mutating func live(as old: Entry, later: Duration) {
        func moved(_ instant: MonotonicInstant) -> MonotonicInstant {
            instant == .distantFuture || instant == .distantPast ? instant : instant.advanced(by: later)
        }
        freshUntil = moved(old.freshUntil)
        staleUntil = moved(old.staleUntil)
        refreshAt = moved(old.refreshAt)
        revalidateUntil = moved(old.revalidateUntil)
        storedAt = moved(old.storedAt)
        fetchDuration = old.fetchDuration
    }
}
