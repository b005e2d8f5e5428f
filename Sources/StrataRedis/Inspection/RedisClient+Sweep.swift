extension RedisClient {
    /// Removes every key that begins with these bytes, in batches.
    ///
    /// SCAN's pattern is only a filter at the server: what comes back is compared byte by byte before it is removed.
    ///
    /// - Parameters:
    ///   - prefix: What the keys begin with.
    ///   - report: Called after each batch with the number of keys removed so far.
    /// - Returns: How many keys were removed.
    /// - Throws: ``RedisError``; `CancellationError`. What was removed until then stays removed.
    @discardableResult
    func sweep(_ prefix: [UInt8], report: (Int) -> Void = { _ in }) async throws -> Int {
        var removed = 0
        for try await keys in keys(beginningWith: prefix) where !keys.isEmpty {
            removed += try await unlink(keys)
            report(removed)
        }
        return removed
    }

    /// Voids all entries of a keyspace, then removes all values and leases; other keys are not touched.
    ///
    /// The numbers of invalidations stay.
    ///
    /// - Parameters:
    ///   - keyspace: The keyspace.
    ///   - report: Called after each batch with what was removed so far.
    /// - Returns: What was removed.
    /// - Throws: ``RedisError``; `CancellationError`. What was removed until then stays removed.
    @discardableResult
    func clear(_ keyspace: Keyspace, report: (KeyspaceCounts) -> Void = { _ in }) async throws -> KeyspaceCounts {
        var removed = KeyspaceCounts()
        // This comes first: from now on no level serves what is not removed yet, and running fetches are void.
        _ = try await inEachPart { try await self.advance(.take(.everything), in: keyspace, $0) }
        // Leases first: without them, no earlier fetch can store its value behind the sweep.
        try await sweep(keyspace.leases) {
            removed.leases = $0
            report(removed)
        }
        try await sweep(keyspace.values) {
            removed.values = $0
            report(removed)
        }
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
    /// What the server filters by.
    let pattern: [UInt8]

    /// - Parameters:
    ///   - client: The server.
    ///   - prefix: What the keys begin with.
    ///   - suffix: A pattern of what follows.
    init(client: RedisClient, prefix: [UInt8], followedBy suffix: String = "*") {
        self.client = client
        self.prefix = prefix
        pattern = RedisGlob.literal(prefix) + Array(suffix.utf8)
    }

    /// Begins a scan.
    public func makeAsyncIterator() -> Iterator { Iterator(batches: self) }

    /// A scan under way.
    public struct Iterator: AsyncIteratorProtocol {
        let batches: RedisKeyBatches
        /// The nodes of a cluster that are yet to be scanned, after the first step.
        private var clients: ArraySlice<RedisClient>?
        private var cursor: UInt64? = 0
        private var limit = ScanLimit()

        init(batches: RedisKeyBatches) {
            self.batches = batches
        }

        /// The next batch, possibly empty; `nil` at the end.
        ///
        /// - Throws: ``RedisError``, with ``RedisError/Code/unexpectedReply`` when the server's scan does not end;
        ///   `CancellationError`.
        public mutating func next() async throws -> [RedisKey]? {
            try Task.checkCancellation()
            if clients == nil { clients = try await batches.client.primaries()[...] }
            if cursor == nil {
                clients = clients?.dropFirst()
                cursor = 0
                limit = ScanLimit()
            }
            guard let position = cursor, let client = clients?.first else { return nil }
            let (next, keys) = try await client.scan(from: position, matching: batches.pattern)
            cursor = try await limit.step(after: position, to: next, at: client) { try await client.databaseSize() }
            return keys.filter { $0.bytes.starts(with: batches.prefix) }
        }
    }
}
