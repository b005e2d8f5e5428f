/// Two levels; each key uses one of them.
///
/// | operation | reaches |
/// |---|---|
/// | get, set | the branch that is chosen for the key, and no other |
/// | remove | both branches, whatever would be chosen |
/// | clear, memory pressure | both branches |
///
/// The branch is chosen anew for every get and set. `remove` also finds a key whose choice has changed.
///
/// ```swift
/// let images = switchLevels(small, large) { key in key.isThumbnail ? .first : .second }
/// ```
///
/// Where both branches hear of changes made elsewhere, no level above keeps what they return: put memory into the
/// branches then, and not above.
public struct Switched<First: CacheLevel, Second: CacheLevel>: PairedLevel
where First.Key == Second.Key, First.Value == Second.Value {
    public typealias Key = First.Key
    public typealias Value = First.Value

    @usableFromInline
    package let pair: Pair<First, Second>
    @usableFromInline
    let choose: @Sendable (First.Key) -> SwitchBranch
    @usableFromInline
    let number = ConditionNumber.next()

    init(_ first: First, _ second: Second, _ choose: @escaping @Sendable (First.Key) -> SwitchBranch) {
        pair = Pair(first, second)
        self.choose = choose
    }

    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        switch request.answers.choosesFirst(number).map({ $0 ? .first : .second }) ?? choose(key) {
        case .first:
            if request.spares(first) || request.rights != nil && first.gate == nil { return nil }
            return pair.marked(try await first.entry(for: key, request), isFirst: true)
        case .second:
            if request.spares(second) || request.rights != nil && second.gate == nil { return nil }
            return pair.marked(try await second.entry(for: key, request), isFirst: false)
        }
    }

    /// The answers of the keys' branches: one call of each, both at the same time.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        let branches = keys.map(choose)
        func places(_ branch: SwitchBranch, _ level: some CacheLevel) -> [Int] {
            // Only this process changes a level without a gate: no right to fill it is asked for.
            let isAsked = !request.spares(level) && (request.rights == nil || level.gate != nil)
            return isAsked ? keys.indices.filter { branches[$0] == branch } : []
        }
        let (toFirst, toSecond) = (places(.first, first), places(.second, second))
        let (ofFirst, ofSecond) = try await concurrently { [first] in
            try await Self.answers(of: first, keys, toFirst, request)
        } and: {
            try await Self.answers(of: second, keys, toSecond, request)
        }
        var entries = [Entry<Value>?](repeating: nil, count: keys.count)
        if let found = ofFirst { entries = found.map { pair.marked($0, isFirst: true) } }
        if let found = ofSecond { for index in toSecond { entries[index] = pair.marked(found[index], isFirst: false) } }
        return entries
    }

    /// The answer of a branch; `nil` when it has failed and failures are left out: then each of its keys has failed.
    private static func answers<Level: CacheLevel<Key, Value>>(
        of level: Level,
        _ keys: [Key],
        _ places: [Int],
        _ request: ReadRequest
    ) async throws -> [Entry<Value>?]? {
        do {
            return try await level.entries(of: keys, at: places, request)
        } catch {
            try await request.leaveOut(places.lazy.map { keys[$0] }, error)
            return nil
        }
    }

    /// The value in the memory of the key's branch.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        switch choose(key) {
        case .first: pair.first.resident(key, at: now)
        case .second: pair.second.resident(key, at: now)
        }
    }

    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        let branch = choose(key)
        if answers.chosen == 0 { answers.chosen = number << 1 | (branch == .first ? 1 : 0) }
        return switch branch {
        case .first: pair.first.resident(key, at: now, &answers)
        case .second: pair.second.resident(key, at: now, &answers)
        }
    }

    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await pair.commit(entry, for: key, toFirst: choose(key) == .first)
    }

    public var label: LevelLabel { LevelLabel("switched", parts: [first.label, second.label]) }
}

extension Switched: Fetcher where First: Fetcher, Second: Fetcher {}

extension Switched: AtomicLevel where First: AtomicLevel, Second: AtomicLevel {
    /// Reads the key's branch, and notes in the mark which one that was.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? {
        let isFirst = choose(key) == .first
        guard var found = try await isFirst ? first.current(key) : second.current(key) else { return nil }
        found.mark.notes.append(ChangeNote(tagChanges: 0, ticket: .none, isAbove: isFirst))
        return found
    }

    /// Changes the branch that was read, also when another one is chosen by now.
    ///
    /// Where one of the branches hears of changes, levels above read the new value before they keep it.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        var mark = mark
        guard let note = mark.notes.popLast() else { throw CacheError.notUpdatable }
        let gate = gate
        defer { gate?.void(fingerprint(of: key)) }
        _ =
            try await note.isAbove
            ? first.exchange(entry, for: key, if: mark) : second.exchange(entry, for: key, if: mark)
        return gate == nil ? nil : .void
    }

    /// Changes the lifetime in the key's branch.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        let gate = gate
        defer { gate?.void(fingerprint(of: key)) }
        return switch choose(key) {
        case .first: try await first.changeLifetime(of: key, change)
        case .second: try await second.changeLifetime(of: key, change)
        }
    }

    /// Settles the write in the key's branch.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        let gate = gate
        defer { if write.step != .looks { gate?.void(fingerprint(of: key)) } }
        return switch choose(key) {
        case .first: try await first.settle(key, write)
        case .second: try await second.settle(key, write)
        }
    }
}

extension Switched: SourcedLevel where First: SourcedLevel, Second: SourcedLevel {}

/// Two levels; each key uses one of them.
///
/// - Parameters:
///   - first: The first branch.
///   - second: The second branch.
///   - choose: Chooses a key's branch, anew for every get and set: it should be quick.
/// - Returns: The level with two branches.
public func switchLevels<First: CacheLevel, Second: CacheLevel>(
    _ first: First,
    _ second: Second,
    _ choose: @escaping @Sendable (First.Key) -> SwitchBranch
) -> Switched<First, Second> where First.Key == Second.Key, First.Value == Second.Value {
    Switched(first, second, choose)
}
