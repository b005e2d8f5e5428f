extension RedisClient {
    /// Removes every key that begins with these bytes, in batches.
    ///
    /// SCAN's pattern is only a filter at the server: what comes back is compared byte by byte before it is removed.
    ///
    /// - Returns: How many keys were removed.
    @discardableResult
    func sweep(_ prefix: [UInt8]) async throws -> Int {
        var removed = 0
        for try await keys in keys(beginningWith: prefix) { removed += try await unlink(keys) }
        return removed
    }

    /// All keys that begin with these bytes, in the batches in which SCAN finds them; a key may come more than once.
    public func keys(beginningWith prefix: [UInt8]) -> RedisKeyBatches {
        RedisKeyBatches(client: self, prefix: prefix)
    }
}

/// The keys of a database that begin with a prefix, as a sequence of batches.
///
/// One round trip each.
public struct RedisKeyBatches: AsyncSequence {
    let client: RedisClient
    let prefix: [UInt8]

    /// Begins a scan.
    public func makeAsyncIterator() -> Iterator { Iterator(client: client, prefix: prefix) }

    /// A scan under way.
    public struct Iterator: AsyncIteratorProtocol {
        let client: RedisClient
        let prefix: [UInt8]
        private var cursor: UInt64?

        init(client: RedisClient, prefix: [UInt8]) {
            self.client = client
            self.prefix = prefix
            cursor = 0
        }

        /// The next batch, possibly empty; `nil` at the end.
        public mutating func next() async throws -> [RedisKey]? {
            guard let position = cursor else { return nil }
            try Task.checkCancellation()
            let (next, keys) = try await client.scan(from: position, matching: RedisGlob.prefix(prefix))
            cursor = next == 0 ? nil : next
            return keys.filter { $0.bytes.starts(with: prefix) }
        }
    }
}
