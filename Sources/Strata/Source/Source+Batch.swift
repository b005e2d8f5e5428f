extension Source {
    /// The number of keys that a source of several is asked for together.
    static var pieceSize: Int { 1_000 }

    /// The answers for several keys: those that no fetch brings already are asked for by one call, if the source takes
    /// several.
    ///
    /// Each key has a flight of its own: batches that overlap, and single reads, fetch no key twice. More than 1 000
    /// keys are asked for by a call for each thousand, at the same time.
    ///
    /// - Returns: The entries in the order of the keys; a key that is named twice is asked for once.
    /// - Throws: The first key's failure, unless the request leaves out failures; `CancellationError`.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        let single = keys.withoutRepetitions()
        let slots = slots(single.count, request)
        let entries = try await single.indices.concurrently { [self] index in
            let (key, slot) = (single[index], slots[index])
            return try await request.leavingOut(key) {
                try await entry(for: key, request.of(key, in: Value.self), slot)
            }
        }
        guard single.count != keys.count else { return entries }
        let found = Dictionary(zip(single, entries)) { first, _ in first }
        return keys.map { found[$0] ?? nil }
    }

    /// The parts of keys in fetches of several, in the order of the keys; `nil` for one that is fetched by itself.
    private func slots(_ count: Int, _ request: ReadRequest) -> [Fetch<Key, Value>.Slot?] {
        let batch = request.callBatch(of: Key.self, Value.self)
        var slots: [Fetch<Key, Value>.Slot?] = []
        while slots.count < count {
            let piece = min(count - slots.count, Self.pieceSize)
            slots += fetch.slots(piece, limiter, for: batch) ?? Array(repeating: nil, count: piece)
        }
        return slots
    }
}
