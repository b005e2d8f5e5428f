/// A level whose reads of one key are pooled: while one is running, other callers of this process join it.
///
/// A cancelled caller leaves alone; the read below is cancelled when the last caller leaves. Setting or removing a key
/// voids its flight: its waiters get its result, later reads start anew. The pool keeps nothing.
///
/// A batch joins what is under way and asks for the rest by one call, which later reads of any of those keys join. No
/// caller gets the failure of a key that it did not ask for.
///
/// ```swift
/// let cache = memory.compose(fetcher.pooled())
/// ```
public struct Pooled<Base: CacheLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose reads are pooled.
    public let base: Base
    private let flights: Flights<Base.Key, Entry<Base.Value>?>
    /// Flights of reads whose callers have an old value: they wait for less time than others would.
    private let sparing: Flights<Base.Key, Entry<Base.Value>?>
    /// For a level that has no gate: keys that are one key below void each other's flights.
    private let ownGate: FillGate?

    init(_ base: Base) {
        self.base = base
        ownGate = base.gate == nil ? FillGate() : nil
        // A flight needs its ticket while it runs: few words, which are used again.
        ownGate?.reserve(for: 1 << 10)
        flights = Flights(clock: base.clock ?? .current, gate: base.gate ?? ownGate)
        sparing = Flights(clock: base.clock ?? .current, gate: base.gate ?? ownGate)
    }

    private func flights(of request: ReadRequest) -> Flights<Key, Entry<Value>?> {
        request.hasFallback ? sparing : flights
    }

    private func voidAll() {
        flights.voidAll()
        sparing.voidAll()
    }

    private func void(_ key: Key) {
        flights.void(key)
        sparing.void(key)
        ownGate?.void(base.fingerprint(of: key))
    }

    /// Asks the level, or joins a running read of the same key.
    ///
    /// A read with options of its own is not shared. Reads whose callers have an old value to serve are shared apart
    /// from others: the level may give them less time.
    ///
    /// - Throws: What the level throws, to all who joined; `CancellationError` to a caller that is cancelled.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        guard request.isShareable else { return try await base.entry(for: key, request) }
        return try await join(key, request) { [base] in try await base.entry(for: key, request) }
    }

    /// Asks the level by one call for the keys without a running read, and joins the reads of the others.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        guard request.isShareable else { return try await base.entries(for: keys, request) }
        guard keys.count > 1 else {
            return try await keys.concurrently { key in
                try await request.leavingOut(key) { try await entry(for: key, request.of(key, in: Value.self)) }
            }
        }
        let flights = self.flights(of: request)
        let voids = flights.voids
        let tagChanges = base.gate?.tagChanges
        let tickets = keys.map { base.gate?.ticket(for: base.fingerprint(of: $0)) ?? .none }
        var seen: Set<Key> = []
        let idle = keys.filter { seen.insert($0).inserted && !flights.isUnderWay($0) }
        let shared = SharedRead(idle) { [base] in try await base.outcomes(for: $0, request) }
        return try await Array(zip(keys, tickets))
            .concurrently { key, ticket in
                try await request.leavingOut(key) {
                    try await join(key, request.of(key)) { [base] in
                        // A flight that began after a change must not carry an entry from before the change: other
                        // reads will join it.
                        if flights.voids == voids, base.gate?.tagChanges == tagChanges,
                            base.gate?.isLive(ticket) != false
                        {
                            if let outcome = try await shared.output(of: key), let outcome { return try outcome.get() }
                        }
                        return try await base.entry(for: key, request.of(key, in: Value.self))
                    }
                }
            }
    }

    private func join(
        _ key: Key,
        _ request: ReadRequest,
        _ work: @escaping @Sendable () async throws -> Entry<Value>?
    ) async throws -> Entry<Value>? {
        let start = MonotonicInstant.now
        var (entry, role) = try await flights(of: request)
            .join(key, fingerprint: base.fingerprint(of: key)) { _ in
                try await work()
            }
        if role == .joined {
            request.recorder?.step(.joined, at: entry?.origin ?? .source, from: start, to: .now)
            entry = entry?.joined
        }
        return entry
    }

    /// Voids the flight and stores the entry.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        void(key)
        defer { void(key) }
        try await base.store(entry, for: key)
    }

    /// Voids the flight and stores the entry.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        void(key)
        defer { void(key) }
        return try await base.commit(entry, for: key)
    }

    /// Voids the flight and removes the key.
    public func remove(_ key: Key) async throws {
        void(key)
        defer { void(key) }
        try await base.remove(key)
    }

    /// Voids all flights and empties the level.
    public func removeAll() async throws {
        voidAll()
        defer { voidAll() }
        try await base.removeAll()
    }

    /// Voids all flights, because their tags are not known yet, and invalidates the tags in the level.
    public func invalidate(tags: [String]) async throws {
        voidAll()
        defer { voidAll() }
        try await base.invalidate(tags: tags)
    }

    /// Reads under way now, joined or not.
    package var underWay: Int { flights.count + sparing.count }

    /// Callers that wait for a read now.
    package var waiting: Int { flights.waiting + sparing.waiting }

    public var label: LevelLabel {
        LevelLabel("pooled", counters: [.init("under_way", underWay)], parts: [base.label])
    }
}

extension Pooled: Fetcher where Base: Fetcher {}

extension Pooled: ConfirmationRelay {}

extension Pooled: AtomicLevel where Base: AtomicLevel {
    /// Voids the flight and changes the level.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        void(key)
        defer { void(key) }
        return try await base.exchange(entry, for: key, if: mark)
    }

    /// Voids the flight and changes the level.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        void(key)
        defer { void(key) }
        return try await base.changeLifetime(of: key, change)
    }

    /// Voids the flight and asks the level.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        if write.step != .looks { void(key) }
        defer { if write.step != .looks { void(key) } }
        return try await base.settle(key, write)
    }
}

extension CacheLevel {
    /// This level with its reads of one key pooled within the process.
    public func pooled() -> Pooled<Self> { Pooled(self) }
}
