extension CacheLevel {
    /// Does nothing.
    public func relieve(_ pressure: MemoryPressure) {}

    /// Asks for each key by itself, all at the same time, and once for one that is named twice.
    ///
    /// The first failure cancels the rest, unless the request leaves out failures.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        var places: [Key: Int] = [:]
        var single: [Key] = []
        for key in keys where places.updateValue(places[key] ?? single.count, forKey: key) == nil { single.append(key) }
        let entries = try await single.concurrently { key in
            try await request.leavingOut(key) { try await entry(for: key, request.of(key, in: Value.self)) }
        }
        return single.count == keys.count ? entries : keys.map { key in places[key].flatMap { entries[$0] } }
    }

    /// Stores the entry.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await store(entry, for: key)
        return nil
    }

    /// None.
    public var origin: EntryOrigin? { nil }

    /// Nothing goes on in the background.
    public func drain(within limit: Duration) async {}

    /// The name of the type.
    public var label: LevelLabel { LevelLabel("\(Self.self)") }

    /// The tree of levels that this one is made of, with their limits and policies, one a line.
    public var description: String { label.description }
}
