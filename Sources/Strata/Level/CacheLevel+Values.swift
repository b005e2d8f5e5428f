extension CacheLevel {
    /// The value of a key; `nil` when there is none anywhere.
    ///
    /// A hit in memory does not suspend.
    ///
    /// - Throws: What the level that was asked last has thrown; `CancellationError`.
    @inlinable
    public func get(_ key: Key) async throws -> Value? {
        if let resident = resident(key, at: .coarse) { return resident.value }
        return try await entry(for: key, ReadRequest())?.value
    }

    /// The value of a key, with an account of where it was found and what it took.
    ///
    /// Costs some allocations more than `get(_:)`.
    public func getWithReceipt(_ key: Key) async throws -> (value: Value?, receipt: Receipt) {
        let recorder = ReceiptRecorder()
        let start = MonotonicInstant.now
        let entry = try await entry(for: key, ReadRequest(recorder: recorder))
        let end = MonotonicInstant.now
        return (entry?.value, recorder.receipt(for: entry, start: start, end: end))
    }

    /// The value of a key, or an error where `get(_:)` returns `nil`.
    ///
    /// - Throws: ``CacheError/Code/miss`` when there is no value; else as `get(_:)`.
    public func require(_ key: Key) async throws -> Value {
        guard let value = try await get(key) else { throw CacheError(code: .miss, message: "no level has the key") }
        return value
    }

    /// The values of several keys in their order, `nil` where there is none.
    public func get(_ keys: [Key]) async throws -> [Value?] {
        try await entries(for: keys, ReadRequest()).map { $0?.value }
    }

    /// Sets a value in this level and those below it.
    ///
    /// Its lifetime is the level's own.
    ///
    /// - Throws: What failed, after all levels were tried.
    public func set(_ value: Value, for key: Key) async throws {
        _ = try await commit(Entry(value: value), for: key)
    }

    /// Forgets everything in this level and those below it.
    public func clear() async throws {
        try await removeAll()
    }
}
