extension CacheLevel {
    /// Does nothing.
    public func relieve(_ pressure: MemoryPressure) {}

    /// Asks for each key by itself, all at the same time.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        guard keys.count > 1 else {
            return try await keys.first.asyncMap { [try await entry(for: $0, request)] } ?? []
        }
        return try await withThrowingTaskGroup(of: (Int, Entry<Value>?).self) { group in
            for (index, key) in keys.enumerated() {
                group.addTask { (index, try await self.entry(for: key, request)) }
            }
            var entries = [Entry<Value>?](repeating: nil, count: keys.count)
            for try await (index, entry) in group { entries[index] = entry }
            return entries
        }
    }

    /// Nothing can be told without suspending.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? { nil }

    /// None.
    public var gate: FillGate? { nil }

    /// The hash of the key: good within this process.
    @inlinable
    public func fingerprint(of key: Key) -> UInt64 {
        UInt64(truncatingIfNeeded: key.hashValue)
    }

    /// They do not.
    public var keepsTickets: Bool { false }

    /// Stores the entry.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await store(entry, for: key)
        return nil
    }

    /// The name of the type.
    public var label: LevelLabel { LevelLabel("\(Self.self)") }
}

extension Optional {
    fileprivate func asyncMap<Result>(_ transform: (Wrapped) async throws -> Result) async rethrows -> Result? {
        guard let self else { return nil }
        return try await transform(self)
    }
}
