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
        let type = try await redis.send([Array("TYPE".utf8), key.name.bytes], repeatable: true).string ?? "none"
        guard type != "none" else { return nil }
        async let clock = redis.time()
        async let lifetime = redis.timeToLive(of: key.name)
        let content = try await type == "string" ? envelope(of: key) : .otherType(type)
        let timeToLive = try await lifetime
        guard let content, timeToLive != .absent else { return nil }
        let milliseconds = try await clock.saturatedNanoseconds / 1_000_000
        return EntryInspection(
            key: key,
            content: content,
            invalidation: try await invalidation(of: content, under: key.name),
            timeToLive: timeToLive,
            serverTime: milliseconds
        )
    }

    /// What voids an entry, by the keyspace's numbers as they stand after it was read.
    private func invalidation(
        of content: EntryInspection.Content,
        under name: RedisKey
    ) async throws -> EntryInspection.Invalidation? {
        guard case .envelope(let envelope) = content, envelope.fault == nil, let header = envelope.header else {
            return nil
        }
        let names = envelope.tags.map { TagName($0) }
        let found = try await redis.tagNumbers(
            of: names,
            in: keyspace,
            redis.cluster == nil ? nil : KeyspacePart(ofName: name.bytes)
        )
        guard let marks = found.marks else { return .marksLost }
        if header.asOf < marks.clear { return .cleared }
        if header.asOf > marks.sequence { return .unknownNumber }
        let void = zip(envelope.tags, names).filter { found.numbers[$1] ?? 0 > header.asOf }.map(\.0)
        return void.isEmpty ? nil : .tags(void)
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
        async let value = redis.timeToLive(of: key.name)
        async let lease = redis.timeToLive(of: key.leaseName)
        return try await KeyLifetimes(value: value, lease: lease)
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
