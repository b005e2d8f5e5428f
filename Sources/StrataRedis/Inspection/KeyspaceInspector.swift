internal import Strata

/// Inspects one keyspace from outside, for tools.
///
/// It needs no codec and no value type, and changes nothing unless told to.
///
/// All reads run on the client given to it, with its deadlines. None blocks the server: SCAN walks in small steps.
package struct KeyspaceInspector: Sendable {
    package let redis: RedisClient
    package let keyspace: Keyspace

    /// How many calls that belong together are under way at once.
    static let concurrency = 64
    /// How much of a value too large to be read is read: header and tags.
    private static let glimpse = Envelope.headerSize + Int(UInt16.max)

    package init(_ redis: RedisClient, _ keyspace: Keyspace) {
        self.redis = redis
        self.keyspace = keyspace
    }

    /// The keys that have a value.
    ///
    /// - Parameter pattern: Which users' keys; `nil` means all, also those of which only the hash is known.
    /// - Returns: The keys in batches.
    package func keys(matching pattern: GlobPattern? = nil) -> KeyListing {
        KeyListing(redis, keyspace, under: keyspace.values, matching: pattern)
    }

    /// The content of a key; `nil` for none.
    ///
    /// Four round trips. A value above ``ReplyLimits/bulkLength`` of the client is not read: only its header and tags
    /// are looked at.
    package func entry(of key: InspectedKey) async throws -> EntryInspection? {
        try await judgedEntry(of: key)?.entry
    }

    /// The content of a key, with the keyspace's numbers by which it was judged; `nil` for none.
    func judgedEntry(
        of key: InspectedKey
    ) async throws -> (entry: EntryInspection, numbers: RedisClient.TagNumbers)? {
        let type = try await redis.send([Array("TYPE".utf8), key.name.bytes], repeatable: true).string ?? "none"
        guard type != "none" else { return nil }
        let ((milliseconds, timeToLive), content) = try await concurrently {
            try await concurrently {
                try await time(at: key)
            } and: {
                try await redis.timeToLive(of: key.name)
            }
        } and: {
            type == "string" ? try await envelope(of: key) : .otherType(type)
        }
        guard let content, timeToLive != .absent else { return nil }
        let tags = content.tags
        // As they stand after the entry was read.
        let numbers = try await redis.tagNumbers(of: tags.map { TagName($0) }, in: keyspace, part(of: key))
        let entry = EntryInspection(
            key: key,
            content: content,
            invalidation: content.invalidation(by: numbers),
            timeToLive: timeToLive,
            serverTime: milliseconds
        )
        return (entry, numbers)
    }

    /// The part of the keyspace that a key lies in; `nil` if it has none.
    func part(of key: InspectedKey) -> KeyspacePart? {
        redis.cluster == nil ? nil : KeyspacePart(ofName: key.name.bytes)
    }

    /// The clock of the server that a key lies at, in milliseconds since 1970.
    func time(at key: InspectedKey) async throws -> Int64 {
        try await redis.time(at: HashSlot.of(key.name)).saturatedNanoseconds / 1_000_000
    }

    private func envelope(of key: InspectedKey) async throws -> EntryInspection.Content? {
        let size = try await redis.length(of: key.name)
        let hash = key.names.keyHash
        if size > redis.configuration.replyLimits.bulkLength {
            let bytes = try await redis.getRange(key.name, from: 0, through: Self.glimpse - 1)
            return .envelope(EnvelopeInspection(bytes, size: size, keyHash: hash))
        }
        // It may have been written anew or have expired since its length was asked for.
        guard let bytes = try await redis.get(key.name) else { return nil }
        return .envelope(EnvelopeInspection(bytes, size: bytes.count, keyHash: hash))
    }

    /// How long Redis keeps a value and its lease.
    ///
    /// One round trip.
    package func lifetimes(of key: InspectedKey) async throws -> KeyLifetimes {
        let (value, lease) = try await concurrently { [redis] in
            try await redis.timeToLive(of: key.name)
        } and: {
            try await redis.timeToLive(of: key.leaseName)
        }
        return KeyLifetimes(value: value, lease: lease)
    }

    /// The numbers of values and leases, by SCAN.
    ///
    /// O(keys of the database) at the server, in small steps.
    package func counts() async throws -> KeyspaceCounts {
        var counts = KeyspaceCounts()
        for try await batch in KeyListing(redis, keyspace, under: keyspace.values, matching: nil) {
            counts.values += batch.count
        }
        for try await batch in KeyListing(redis, keyspace, under: keyspace.leases, matching: nil) {
            counts.leases += batch.count
        }
        return counts
    }
}
