/// A level whose reads of one key are pooled: while one is under way, others of this process join it.
///
/// A caller's cancellation is its own; the read below is cancelled when the last caller leaves. Setting or removing a key
/// voids its flight: those who wait get what they asked for, later reads start anew. The pool keeps nothing.
public struct Pooled<Base: CacheLevel>: CacheLevel {
    /// What entries are found by.
    public typealias Key = Base.Key
    /// What is kept.
    public typealias Value = Base.Value

    /// The level whose reads are pooled.
    public let base: Base
    private let flights: Flights<Base.Key, Entry<Base.Value>?>

    init(_ base: Base) {
        self.base = base
        flights = Flights(gate: base.gate)
    }

    /// Asks the level, or joins a read of the same key that is under way.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        let start = MonotonicInstant.now
        let (entry, role) = try await flights.join(key, fingerprint: base.fingerprint(of: key)) { [base] in
            try await base.entry(for: key, request)
        }
        if role == .joined, let recorder = request.recorder {
            recorder.step(.joined, at: entry?.origin ?? .source, from: start, to: .now)
        }
        return entry
    }

    /// What the level's memory has.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? { base.resident(key, at: now) }

    /// Voids the flight and stores the entry.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        flights.void(key)
        defer { flights.void(key) }
        try await base.store(entry, for: key)
    }

    /// Voids the flight and stores the entry.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        flights.void(key)
        defer { flights.void(key) }
        return try await base.commit(entry, for: key)
    }

    /// Voids the flight and removes the key.
    public func remove(_ key: Key) async throws {
        flights.void(key)
        defer { flights.void(key) }
        try await base.remove(key)
    }

    /// Voids all flights and empties the level.
    public func removeAll() async throws {
        flights.voidAll()
        defer { flights.voidAll() }
        try await base.removeAll()
    }

    /// Told to the level.
    public func relieve(_ pressure: MemoryPressure) { base.relieve(pressure) }

    /// The level's.
    public var gate: FillGate? { base.gate }

    /// The level's.
    public func fingerprint(of key: Key) -> UInt64 { base.fingerprint(of: key) }

    /// What the level says.
    public var keepsTickets: Bool { base.keepsTickets }

    /// `pooled`, with the level inside.
    public var label: LevelLabel { LevelLabel("pooled", parts: [base.label]) }
}

extension CacheLevel {
    /// This level with its reads of one key pooled within the process.
    public func pooled() -> Pooled<Self> { Pooled(self) }
}
