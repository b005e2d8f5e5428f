/// A level made of two: everything but a read goes to both.
package protocol PairedLevel: CacheLevel where Key == First.Key, Value == First.Value {
    /// The kind of one level.
    associatedtype First: CacheLevel
    /// The kind of the other.
    associatedtype Second: CacheLevel where Second.Key == First.Key, Second.Value == First.Value

    /// The two levels.
    var pair: Pair<First, Second> { get }
}

extension PairedLevel {
    /// One of the levels.
    package var first: First { pair.first }

    /// The other level.
    package var second: Second { pair.second }

    public func store(_ entry: Entry<Value>, for key: Key) async throws { _ = try await commit(entry, for: key) }

    /// Stores the entry in both levels; the failure of one does not stop the other.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await pair.commit(entry, for: key)
    }

    /// Removes the key from both levels; the failure of one does not stop the other.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func remove(_ key: Key) async throws { try await pair.remove(key) }

    /// Empties both levels; the failure of one does not stop the other.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func removeAll() async throws { try await pair.removeAll() }

    /// Invalidates the tags in both levels; the failure of one does not stop the other.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func invalidate(tags: [String]) async throws { try await pair.invalidate(tags: tags) }

    public func relieve(_ pressure: MemoryPressure) { pair.relieve(pressure) }

    public func drain(within limit: Duration) async { await pair.drain(within: limit) }

    /// The gate of the level that has one.
    public var gate: FillGate? { pair.gate }

    /// The names by which either level knows the tags.
    public func stored(tags: [String]) -> [String] {
        let (ofFirst, ofSecond) = (first.stored(tags: tags), second.stored(tags: tags))
        return ofFirst == ofSecond ? ofFirst : ofFirst + ofSecond.filter { !ofFirst.contains($0) }
    }

    /// The tags that each entry of either level bears.
    public var commonTags: [String] {
        let (ofFirst, ofSecond) = (first.commonTags, second.commonTags)
        return ofFirst + ofSecond.filter { !ofFirst.contains($0) }
    }

    /// The number by which the level whose gate it is knows the key.
    public func fingerprint(of key: Key) -> UInt64 { pair.fingerprint(of: key) }

    /// Whether neither level has a source of its own.
    public var lacksSource: Bool { first.lacksSource && second.lacksSource }

    /// The policy with the shorter fresh lifetime: the level that an entry goes to depends on its key.
    public var policy: FreshnessPolicy? {
        [first.policy, second.policy].compactMap(\.self).min { $0.freshFor < $1.freshFor }
    }

    /// The clock of the first level that has one.
    public var clock: CacheClock? { first.clock ?? second.clock }

    /// Whether both levels keep tickets.
    public var keepsTickets: Bool { pair.keepsTickets }

    /// Whether both levels only keep what they are given.
    public var isStorage: Bool { first.isStorage && second.isStorage }

    /// The name of both, where it is the same.
    public var origin: EntryOrigin? { first.origin == second.origin ? first.origin : nil }

    /// Whether a set goes to a source of truth in either level.
    public var writesSource: Bool { first.writesSource || second.writesSource }
}

// Two fetchers make a fetcher, and are nevertheless told of writes.
extension PairedLevel where Self: Fetcher {
    package func store(_ entry: Entry<Value>, for key: Key) async throws { _ = try await commit(entry, for: key) }

    package func remove(_ key: Key) async throws { try await pair.remove(key) }

    package func removeAll() async throws { try await pair.removeAll() }
}

extension ReadRequest {
    /// Whether a level has no part in this read, so that its answer is none.
    func passesOver(_ level: some CacheLevel) -> Bool {
        if spares(level) { return true }
        // A level that fetches can also do so without what it keeps.
        guard skipsReading(level), level.isStorage else { return false }
        skipped(level)
        return true
    }
}
