internal import Strata

extension RedisLevel {
    /// Invalidates every entry in the keyspace that bears one of these tags, in Redis and in every instance's memory.
    ///
    /// Nothing is removed: the entries are void by their number, and go when they expire or are swept. The result of a
    /// running fetch is void, too. One round trip for each thousand tags, for any number of entries.
    ///
    /// When that fails, it is repeated as soon as Redis is back.
    ///
    /// - Throws: ``/Strata/CacheError/Code/invalidTags``; ``RedisError``, and then it may have happened or not;
    ///   `CancellationError`.
    public func invalidate(tags: [String]) async throws {
        try TagLimits.checkLengths(tags)
        let names = TagName.unique(tags)
        guard !names.isEmpty, let gate else { return }
        let fingerprints = names.map { $0.fingerprint() }
        gate.void(tagFingerprints: fingerprints)
        // Also after a failure, because the server may have done it all the same.
        defer { gate.void(tagFingerprints: fingerprints) }
        for start in stride(from: 0, to: names.count, by: TagLimits.tagsPerEntry) {
            let part = Array(names[start..<min(start + TagLimits.tagsPerEntry, names.count)])
            do {
                try await counting { try await shared.tags.invalidate(.tags(part), redis) }
            } catch  where error is RedisError || error is CancellationError {
                for name in part {
                    redis.outage.replay.record(.tag(name, keyspace), .removal, for: Self.tagMemory, redis)
                }
                throw error
            }
        }
    }

    /// Forgets all entries of the keyspace, in Redis and in every instance's memory; other keys are not touched.
    ///
    /// Nothing is removed: the entries are void, and go when they expire or are swept by ``sweep(rate:progress:)``. A
    /// running fetch may still store its value, under a number by which it is void. One round trip, for any number of
    /// entries.
    ///
    /// When that fails, it is repeated as soon as Redis is back.
    ///
    /// - Throws: ``RedisError``, and then it may have happened or not; `CancellationError`.
    public func removeAll() async throws {
        gate?.voidAll()
        defer { gate?.voidAll() }
        try await redis.keeping(.all(keyspace), .removal, for: freshness.longestLifetime) { _ in
            try await counting { try await shared.tags.invalidate(.everything, redis) }
        }
    }

    /// How long the invalidation of a tag is remembered, and so the longest life of an entry with tags.
    static var tagMemory: Duration { .seconds(30 * 86_400) }

    /// Reads the value under a name, and the marks with it where they are not known.
    func read(_ name: RedisKey) async throws -> (bytes: [UInt8]?, asked: TagMarks.Asked?) {
        try await besideMarks { try await redis.get(name, timeout: $0) }
    }

    /// The same for several names.
    func read(_ names: [RedisKey]) async throws -> (bytes: [[UInt8]?], asked: TagMarks.Asked?) {
        try await besideMarks { try await redis.get(names, timeout: $0) }
    }

    /// Starts nothing while the breaker is open.
    private func besideMarks<Found>(
        _ find: (Duration) async throws -> Found
    ) async throws -> (Found, TagMarks.Asked?) {
        shared.tags.used()
        guard !shared.tags.isKnown else { return (try await redis.guarded(.read) { try await find($0) }, nil) }
        let (found, marks) = try await redis.guarded(.read) { timeout in
            // Their failure is counted where the marks are read.
            async let marks = Result { try await shared.tags.askBesideRead(redis) }
            return (try await find(timeout), await marks)
        }
        return (found, try marks.get())
    }

    /// Replaces an entry that an invalidation has voided.
    func admitted(_ finding: Finding, _ asked: TagMarks.Asked?) async throws -> Finding {
        guard case .entry(let entry, let bytes) = finding else { return finding }
        guard let isValid = shared.tags.knows(entry.asOf, entry.tags) else {
            return try await admitted([finding], asked)[0]
        }
        return counted(entry, bytes, isValid: isValid)
    }

    private func counted(_ entry: Entry<Value>, _ bytes: [UInt8], isValid: Bool) -> Finding {
        counters.add(isValid ? \.hits : \.voided)
        return isValid ? .entry(entry, bytes: bytes) : .void(stamp: Envelope.stamp(of: bytes))
    }

    /// Replaces the entries that an invalidation has voided.
    func admitted(_ findings: [Finding], _ asked: TagMarks.Asked?) async throws -> [Finding] {
        let entries = findings.compactMap(\.entry)
        guard !entries.isEmpty else { return findings }
        let questions = entries.map { ($0.asOf, TagName.unique($0.tags)) }
        var verdicts = try await counting { try await shared.tags.admits(questions, asked, redis) }[...]
        return findings.map { finding in
            guard case .entry(let entry, let bytes) = finding else { return finding }
            return counted(entry, bytes, isValid: verdicts.popFirst() ?? false)
        }
    }
}
