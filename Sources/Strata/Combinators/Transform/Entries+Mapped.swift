extension Array {
    /// The entries with their values transformed, their keys in hand; those that fail are `nil` if the request leaves
    /// out failures.
    func mapped<Key: Hashable & Sendable, Value, Other>(
        _ keys: [Key],
        by step: Step<(Key, Value), Other>,
        _ request: ReadRequest
    ) async throws -> [Entry<Other>?] where Element == Entry<Value>? {
        let hits = indices.filter { self[$0] != nil }
        let map: @Sendable (Key, Entry<Value>) async throws -> Entry<Other>? = { key, entry in
            try await request.leavingOut(key) { try await entry.map { try await step((key, $0)) } }
        }
        var entries = [Entry<Other>?](repeating: nil, count: count)
        if step.isImmediate {
            for index in hits { if let entry = self[index] { entries[index] = try await map(keys[index], entry) } }
            return entries
        }
        let pairs = hits.compactMap { index in self[index].map { (keys[index], $0) } }
        let mapped = try await pairs.concurrently { try await map($0.0, $0.1) }
        for (position, index) in hits.enumerated() { entries[index] = mapped[position] }
        return entries
    }
}
