extension Source {
    /// The number of keys that are asked for together.
    static var pieceSize: Int { 1_000 }

    /// The answers for several keys: those that no fetch brings already are asked for by one call, if the source takes
    /// several.
    ///
    /// Each key has a flight of its own: batches that overlap, and single reads, fetch no key twice. More than 1 000 keys
    /// are asked for in pieces of that size, one after the other.
    ///
    /// - Returns: The entries in the order of the keys; a key that is named twice is asked for once.
    /// - Throws: The first key's failure, unless the request leaves out failures; `CancellationError`.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        var found: [Key: Entry<Value>] = [:]
        var rest = keys.withoutRepetitions()[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Self.pieceSize))
            rest = rest.dropFirst(Self.pieceSize)
            for (key, entry) in zip(piece, try await answers(to: piece, request)) { found[key] = entry }
        }
        return keys.map { found[$0] }
    }

    /// The answers for a piece of different keys.
    private func answers(to keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        let slots = fetch.slots(keys.count, limiter, for: request.callBatch(of: Key.self, Value.self))
        return try await keys.indices.concurrently { [self] index in
            let (key, slot) = (keys[index], slots?[index])
            return try await request.leavingOut(key) {
                try await entry(for: key, request.of(key, in: Value.self), slot)
            }
        }
    }
}
