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
        let areDone = try await redis.inEachPart { [self] in try await invalidate(names, of: $0) }
        guard areDone.allSatisfy(\.self) else { return }
        tellInvalidation(names.count == 1 ? "a tag" : "\(names.count) tags")
    }

    /// - Returns: Whether it was carried out; false when some of it is kept.
    private func invalidate(_ names: [TagName], of part: KeyspacePart?) async throws -> Bool {
        for start in stride(from: 0, to: names.count, by: TagLimits.tagsPerEntry) {
            let some = Array(names[start..<min(start + TagLimits.tagsPerEntry, names.count)])
            // The rest is not tried any more.
            let rest = names[start...].map { PendingInvalidations.Target.tag($0, keyspace, part) }
            let isDone = try await removing(rest, for: Self.tagMemory) {
                try await counting { try await shared.tags(of: part).invalidate(.tags(some), redis) }
            }
            guard isDone else { return false }
        }
        return true
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
        let areDone = try await redis.inEachPart { [self] part in
            try await removing([.all(keyspace, part)], for: longestLifetime) {
                try await counting { try await shared.tags(of: part).invalidate(.everything, redis) }
            }
        }
        if areDone.allSatisfy(\.self) { tellInvalidation("everything") }
    }

    /// How long the invalidation of a tag is remembered, and so the longest life of an entry with tags.
    static var tagMemory: Duration { .seconds(30 * 86_400) }

    /// Reads the value of a key, and the marks with it where they are not known.
    func read(_ names: KeyNames) async throws -> (bytes: [UInt8]?, asked: TagMarks.Asked?) {
        try await besideMarks(names) { try await redis.get(names.value, timeout: $0) }
    }

    /// The same for several keys of a keyspace without parts.
    func read(_ names: [KeyNames]) async throws -> (found: ManyValues, asked: TagMarks.Asked?) {
        guard let first = names.first else { return (ManyValues(), nil) }
        return try await besideMarks(first) { try await redis.values(of: names.map(\.value), timeout: $0) }
    }

    /// Starts nothing while the breaker is open.
    private func besideMarks<Found>(
        _ names: KeyNames,
        _ find: (Duration) async throws -> Found
    ) async throws -> (Found, TagMarks.Asked?) {
        let tags = shared.tags(of: names.part)
        tags.used()
        guard !tags.isKnown else {
            return (try await redis.guarded(.read, for: names.value) { try await find($0) }, nil)
        }
        let (marks, found) = try await redis.guarded(.read, for: names.value) { timeout in
            try await concurrently { [redis] in
                // Their failure is counted where the marks are read. Their time is this step's, and charged with it.
                await Result { try await CallBudget.apart { try await tags.askBesideRead(redis) } }
            } and: {
                try await find(timeout)
            }
        }
        return (found, try marks.get())
    }

    /// Replaces an entry that an invalidation has voided.
    func admitted(_ finding: Finding, of names: KeyNames, _ asked: TagMarks.Asked?) async throws -> Finding {
        guard case .entry(let entry, let bytes) = finding else { return finding }
        guard let isValid = shared.tags(of: names.part).knows(entry.asOf, entry.tags) else {
            return try await admitted([finding], of: names.part, asked)[0]
        }
        return isValid ? finding : voided(entry, bytes, names.part)
    }

    /// Replaces the entries of one part, or of a keyspace without parts, that an invalidation has voided.
    func admitted(
        _ findings: [Finding],
        of part: KeyspacePart?,
        _ asked: TagMarks.Asked?
    ) async throws -> [Finding] {
        let tags = shared.tags(of: part)
        // Those of unknown validity are asked for first, for that may fail.
        var (void, asking, questions) = ([Int](), [Int](), [(UInt64, [TagName])]())
        for place in findings.indices {
            guard case .entry(let entry, _) = findings[place] else { continue }
            switch tags.knows(entry.asOf, entry.tags) {
            case true?: break
            case false?: void.append(place)
            case nil:
                asking.append(place)
                questions.append((entry.asOf, TagName.unique(entry.tags)))
            }
        }
        if !asking.isEmpty {
            let verdicts = try await counting { [questions] in try await tags.admits(questions, asked, redis) }
            for (place, isValid) in zip(asking, verdicts) where !isValid { void.append(place) }
        }
        guard !void.isEmpty else { return findings }
        var judged = findings
        for place in void {
            guard case .entry(let entry, let bytes) = findings[place] else { continue }
            judged[place] = voided(entry, bytes, part)
        }
        return judged
    }

    /// What a reader finds in place of an entry that a tag or a clear has voided.
    func voided(_ entry: Entry<Value>, _ bytes: [UInt8], _ part: KeyspacePart?) -> Finding {
        .void(
            stamp: Envelope.stamp(of: bytes),
            because: shared.tags(of: part).hasCleared(entry.asOf) || entry.tags.isEmpty ? .cleared : .tagInvalidated
        )
    }
}
