/// A level whose keys are lists of another level's keys, and whose values are lists of its values.
///
/// | operation | does |
/// |---|---|
/// | get | asks for all keys at once; a value when every key has one, a miss when one has none |
/// | set | sets each pair; what was set stays set when another fails |
/// | remove | removes every key |
/// | clear, memory pressure | tells the level once |
///
/// It composes, transforms and pools like any other level.
///
/// ```swift
/// let pages = products.allBatch().transformKeys { (page: Page) in page.productIDs }
/// ```
///
/// An entry of several is as fresh as the one that expires first. Over a level that hears of changes made elsewhere,
/// levels above do not keep what is returned, as one ticket cannot stand for many keys: put memory below the batch.
public struct ListLevel<Base: CacheLevel>: WrappingLevel {
    /// Lists of the level's keys.
    public typealias Key = [Base.Key]
    /// Lists of the level's values.
    public typealias Value = [Base.Value]

    /// The level whose keys are batched.
    public let base: Base

    init(_ base: Base) {
        self.base = base
    }

    /// All values, in the order of the keys; `nil` when a key has none.
    ///
    /// - Throws: The first failure; the keys still under way are then cancelled.
    public func entry(for keys: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        joined(try await base.entries(for: keys, request.strict))
    }

    /// Nothing: where memory lacks one of the keys, the others would be asked for again.
    public func resident(_ keys: Key, at now: MonotonicInstant) -> Resident<Value>? { nil }

    /// Stores each pair.
    public func store(_ entry: Entry<Value>, for keys: Key) async throws {
        _ = try await commit(entry, for: keys)
    }

    /// Stores each pair, all at the same time; all are tried.
    ///
    /// An absence of several keys together does not say which of them has no value, so nothing is stored. One that a
    /// read has found below leaves what is there; one that a user sets removes all the keys.
    ///
    /// - Throws: ``CacheError/Code/countMismatch`` before anything is stored; the error of the key that failed;
    ///   ``CacheError/Code/levelsFailed`` when several did.
    public func commit(_ entry: Entry<Value>, for keys: Key) async throws -> Ticket? {
        if case .value(let values) = entry.content, values.count != keys.count {
            throw CacheError(code: .countMismatch, message: "\(keys.count) keys and \(values.count) values")
        }
        // One of several is missing, and it is not known which.
        if case .absent = entry.content, keys.count > 1 {
            if !entry.isFill { try await remove(keys) }
            return base.gate == nil ? nil : .void
        }
        try await forEach(keys) { [base] index, key in
            var part = await entry.map { $0[index] }
            part.hasNewVersion = false
            _ = try await base.commit(part, for: key)
        }
        return base.gate == nil ? nil : .void
    }

    /// Removes every key, all at the same time; all are tried.
    ///
    /// - Throws: The error of the key that failed; ``CacheError/Code/levelsFailed`` when several did.
    public func remove(_ keys: Key) async throws {
        try await forEach(keys) { [base] _, key in try await base.remove(key) }
    }

    /// No: an entry of several has no ticket of its own.
    public var keepsTickets: Bool { false }

    public var label: LevelLabel { LevelLabel("all of a batch", parts: [base.label]) }

    private func forEach(_ keys: Key, _ body: @escaping @Sendable (Int, Base.Key) async throws -> Void) async throws {
        let failures = try await Array(keys.enumerated())
            .concurrently { pair -> (any Error)? in
                do {
                    try await body(pair.offset, pair.element)
                    return nil
                } catch {
                    return error
                }
            }
            .compactMap { $0 }
        if failures.contains(where: { $0 is CancellationError }) { throw CancellationError() }
        if !failures.isEmpty { throw CacheError.combining(failures) }
    }

    /// One entry of several: no better than the worst of them.
    private func joined(_ entries: [Entry<Base.Value>?]) -> Entry<Value>? {
        var joined = Entry<Value>(.value([]), staleUntil: .distantFuture)
        joined.storedAt = entries.compactMap { $0?.storedAt }.min() ?? .distantPast
        var values: Value = []
        values.reserveCapacity(entries.count)
        var isAbsent = false
        var seals: [TagSeal?] = []
        for entry in entries {
            guard let entry else { return nil }
            if let value = entry.value { values.append(value) } else { isAbsent = true }
            joined.freshUntil = min(joined.freshUntil, entry.freshUntil)
            joined.staleUntil = min(joined.staleUntil, entry.staleUntil)
            joined.fetchDuration = max(joined.fetchDuration, entry.fetchDuration)
            joined.isSuspect = joined.isSuspect || entry.isSuspect
            joined.tags += entry.tags.filter { !joined.tags.contains($0) }
            if joined.origin == .source { joined.origin = entry.origin }
            seals.append(entry.seal)
            if entry.ticket == .void { joined.ticket = .void }
        }
        if base.gate != nil { joined.ticket = .void }
        joined.seal = .joining(seals)
        joined.content = isAbsent ? .absent : .value(values)
        return joined
    }
}

extension ListLevel: Fetcher where Base: Fetcher {}

extension ListLevel: AtomicLevel where Base: Fetcher {}

extension CacheLevel {
    /// This level with lists of its keys as keys, and lists of its values as values.
    public func allBatch() -> ListLevel<Self> { ListLevel(self) }
}
