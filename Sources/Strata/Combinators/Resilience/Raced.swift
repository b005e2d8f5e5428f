/// Two levels that are asked at the same time.
///
/// The first to answer wins; the other's work is cancelled.
///
/// | operation | reaches |
/// |---|---|
/// | get | both; the first outcome is the caller's, be it a value, a miss or a failure |
/// | set, remove, clear, memory pressure | both |
///
/// With ``RaceRule/firstValue`` a miss or a failure is not the end while the other level may still have a value.
///
/// A caller that is cancelled cancels both. More than two race by racing again: `a.race(b).race(c)`.
///
/// ```swift
/// let nearest = east.race(west, .firstValue)
/// ```
public struct Raced<First: CacheLevel, Second: CacheLevel>: PairedLevel
where First.Key == Second.Key, First.Value == Second.Value {
    public typealias Key = First.Key
    public typealias Value = First.Value

    @usableFromInline
    package let pair: Pair<First, Second>
    private let rule: RaceRule

    init(_ first: First, _ second: Second, _ rule: RaceRule) {
        pair = Pair(first, second)
        self.rule = rule
    }

    /// The entry of the level that answers first.
    ///
    /// - Throws: What the level that decides throws; `CancellationError` when the caller is cancelled.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if request.rights != nil { return try await pair.claim(key, request) }
        if request.awaited != nil { return try await pair.awaited(key, request) }
        if request.passesOver(first) {
            guard !request.passesOver(second) else { return nil }
            return pair.marked(try await second.entry(for: key, request), isFirst: false)
        }
        guard !request.passesOver(second) else {
            return pair.marked(try await first.entry(for: key, request), isFirst: true)
        }
        return try await FirstOutcome.of(
            [
                { [pair] in pair.marked(try await pair.first.entry(for: key, request), isFirst: true) },
                { [pair] in pair.marked(try await pair.second.entry(for: key, request), isFirst: false) },
            ],
            decides: { [rule] in rule == .firstOutcome || (try? $0.get())??.value != nil }
        )
    }

    /// The entries of the level that answers first; each level is asked by one call.
    ///
    /// With ``RaceRule/firstValue`` each key has the first value that comes.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        if request.rights != nil { return try await keys.concurrently { try await pair.claim($0, request) } }
        if request.passesOver(first) {
            guard !request.passesOver(second) else { return Array(repeating: nil, count: keys.count) }
            return try await second.entries(for: keys, request).map { pair.marked($0, isFirst: false) }
        }
        guard !request.passesOver(second) else {
            return try await first.entries(for: keys, request).map { pair.marked($0, isFirst: true) }
        }
        guard rule == .firstOutcome else { return try await firstValues(of: keys, request) }
        let winner: RacedAnswer<Value> = try await FirstOutcome.of([
            { [self] in try await told(by: first, isFirst: true, of: keys, request) },
            { [self] in try await told(by: second, isFirst: false, of: keys, request) },
        ])
        // The caller does not get the other one's failure.
        request.leftOut?.add(winner.notes, of: keys, as: keys)
        return winner.entries
    }

    /// The entries of one level, with its failures where failures are left out.
    private func told(
        by level: some CacheLevel<Key, Value>,
        isFirst: Bool,
        of keys: [Key],
        _ request: ReadRequest
    ) async throws -> RacedAnswer<Value> {
        let notes = FailureNotes()
        let asked = request.leavesOutFailures ? request.going(on: notes) : request
        let entries = try await level.entries(for: keys, asked).map { pair.marked($0, isFirst: isFirst) }
        return RacedAnswer(entries: entries, notes: notes)
    }

    /// The first value of each key; a miss where there is none, and the failure of a key that both levels failed to
    /// read.
    private func firstValues(of keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        let merged = Locked(RacedBatch<Value>(count: keys.count))
        @Sendable func ask(_ level: some CacheLevel<Key, Value>, isFirst: Bool) async -> Bool {
            let notes = FailureNotes()
            var found: [Entry<Value>?]
            do { found = try await level.entries(for: keys, request.going(on: notes)) } catch {
                found = Array(repeating: nil, count: keys.count)
                notes.add(error)
            }
            let any = notes.all.first
            // Where it is not known which keys have failed, each key without an entry may have.
            let errors = notes.errors(of: keys) ?? found.map { $0 == nil ? any : nil }
            return merged.withLock { merged in
                merged.add(found.map { pair.marked($0, isFirst: isFirst) }, errors)
                return merged.isComplete
            }
        }
        _ = try await FirstOutcome.of(
            [{ [pair] in await ask(pair.first, isFirst: true) }, { [pair] in await ask(pair.second, isFirst: false) }],
            decides: { (try? $0.get()) == true }
        )
        let outcomes = merged.withLock { $0.outcomes }
        return try zip(keys, outcomes)
            .map { key, outcome in
                do { return try outcome?.get() } catch {
                    guard request.leavesOutFailures else { throw error }
                    request.leftOut?.add(error, of: key)
                    return nil
                }
            }
    }

    /// The value in either level's memory.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        pair.first.resident(key, at: now) ?? pair.second.resident(key, at: now)
    }

    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        pair.first.resident(key, at: now, &answers) ?? pair.second.resident(key, at: now, &answers)
    }

    public var label: LevelLabel {
        LevelLabel(
            rule == .firstOutcome ? "raced, the first outcome wins" : "raced, the first value wins",
            parts: [first.label, second.label]
        )
    }
}

/// The answer of one level in a batch.
private struct RacedAnswer<Value: Sendable>: Sendable {
    let entries: [Entry<Value>?]
    /// What has failed, where failures are left out.
    let notes: FailureNotes
}

/// The answers of two levels for the keys of a batch.
private struct RacedBatch<Value: Sendable>: Sendable {
    /// The best of each key so far: a value before a miss, a miss before a failure; `nil` for nothing yet.
    private(set) var outcomes: [Result<Entry<Value>?, any Error>?]

    init(count: Int) {
        outcomes = Array(repeating: nil, count: count)
    }

    /// Whether each key has a value.
    var isComplete: Bool { outcomes.allSatisfy { (try? $0?.get())??.value != nil } }

    mutating func add(_ entries: [Entry<Value>?], _ errors: [(any Error)?]) {
        for (index, entry) in entries.enumerated() {
            switch (outcomes[index], entry, errors[index]) {
            case (nil, nil, let error?): outcomes[index] = .failure(error)
            case (nil, _, _), (.failure, _?, _), (.failure, nil, nil): outcomes[index] = .success(entry)
            case (.success(let old), let entry?, _) where old?.value == nil && (old == nil || entry.value != nil):
                outcomes[index] = .success(entry)
            default: break
            }
        }
    }
}

extension Raced: Fetcher where First: Fetcher, Second: Fetcher {}

extension Raced: AtomicLevel where First: Fetcher, Second: Fetcher {}

/// Which outcome wins a race between levels.
public enum RaceRule: Sendable, Hashable {
    /// The first, whatever it is.
    case firstOutcome
    /// The first value; a miss or a failure only when no value comes, and then a miss before a failure.
    case firstValue
}

extension CacheLevel {
    /// This level and another one, asked at the same time.
    public func race<Other: CacheLevel>(_ other: Other, _ rule: RaceRule = .firstOutcome) -> Raced<Self, Other>
    where Other.Key == Key, Other.Value == Value {
        Raced(self, other, rule)
    }
}
