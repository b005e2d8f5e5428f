internal import Strata

extension RedisLevel {
    /// Removes entries that invalidations of tags and clears have voided.
    ///
    /// No level serves such entries, and they expire by themselves; a sweep is for a server that needs their memory
    /// sooner. It walks over the database by SCAN, reads the header of each value of this keyspace, and removes the
    /// void ones, each only if no other value has taken its place. It leaves alone bytes that are no envelope, newer
    /// formats and higher schema numbers. At the end it forgets tags that were last invalidated longer ago than any
    /// entry lives.
    ///
    /// ```swift
    /// try await articles.clear()
    /// try await articles.sweep(rate: 2_000) { print("\($0.removed) of \($0.looked) removed") }
    /// ```
    ///
    /// For each batch of some hundred values: one SCAN, one GETRANGE for each value and one script for each removal,
    /// pipelined.
    ///
    /// - Parameters:
    ///   - rate: The most values to check in a second.
    ///   - progress: Called after each batch.
    /// - Returns: What was done.
    /// - Throws: ``RedisError``; `CancellationError`. Entries that were removed by then stay removed.
    @discardableResult
    public func sweep(
        rate: Int = 5_000,
        progress: (SweepProgress) -> Void = { _ in }
    ) async throws -> SweepProgress {
        try await sweep(rate: rate, clock: ContinuousClock(), progress: progress)
    }

    /// The same with a clock of the caller's choice.
    func sweep<C: Clock<Duration>>(
        rate: Int,
        clock: C,
        progress: (SweepProgress) -> Void = { _ in }
    ) async throws -> SweepProgress {
        var done = SweepProgress()
        let pause = Duration.seconds(1) / max(rate, 1)
        var next = clock.now
        for try await names in redis.keys(beginningWith: keyspace.values) where !names.isEmpty {
            if next > clock.now { try await clock.sleep(until: next, tolerance: nil) }
            next = max(next, clock.now).advanced(by: pause * names.count)
            done.looked += names.count
            done.removed += try await removeVoid(names)
            progress(done)
        }
        done.forgottenTags = try await forgetTags()
        progress(done)
        return done
    }

    /// Removes the void ones of some values.
    private func removeVoid(_ names: [RedisKey]) async throws -> Int {
        let headers =
            try await names.concurrently { [redis, schema = codec.schema] name in
                try await SweptHeader.read(name, redis, schema: schema)
            }
            .compactMap { $0 }
        guard !headers.isEmpty else { return 0 }
        var void: [SweptHeader] = []
        for (part, some) in Dictionary(grouping: headers, by: { part(of: $0.name) }) {
            let verdicts = try await shared.tags(of: part).admits(some.map { ($0.asOf, $0.tags) }, nil, redis)
            void += zip(some, verdicts).filter { !$1 }.map(\.0)
        }
        return
            try await void.concurrently { [redis] header in
                let reply = try await redis.run(
                    TagScripts.removeVersion,
                    keys: [header.name],
                    arguments: [header.stamp],
                    repetition: .repeatable
                )
                return reply.count ?? 0
            }
            .reduce(0, +)
    }

    private func part(of name: RedisKey) -> KeyspacePart? {
        shared.isDivided ? KeyspacePart(ofName: name.bytes) : nil
    }

    /// Forgets tags whose numbers are older than any entry that bears them.
    private func forgetTags() async throws -> Int {
        var forgotten = 0
        for part in redis.parts { forgotten += try await forgetTags(of: part) }
        return forgotten
    }

    private func forgetTags(of part: KeyspacePart?) async throws -> Int {
        let marks = RedisKey(keyspace.marks(of: part))
        // One day more, because a fetch may take a while before its entry is written.
        let memory = Self.tagMemory + .seconds(86_400)
        let limit = (try await redis.time() - memory).saturatedNanoseconds / 1_000
        guard let limit = InvalidationNumber(exactly: limit), limit > 0 else { return 0 }
        var forgotten = 0
        var cursor: UInt64? = 0
        var scan = ScanLimit()
        while let position = cursor {
            let (next, fields) = try await redis.tagFields(in: keyspace, part, from: position)
            cursor = try await scan.step(after: position, to: next, at: redis.responsible(for: marks)) {
                try await redis.count(of: "HLEN", .repeatable, [marks])
            }
            let old = fields.filter {
                TagName(bytes: $0.name) != nil && TagMarks.number($0.number) ?? .max < limit
            }
            guard !old.isEmpty else { continue }
            let reply = try await redis.run(
                TagScripts.forgetTags,
                keys: [marks],
                arguments: old.flatMap { [$0.name, $0.number] },
                repetition: .repeatable
            )
            forgotten += reply.count ?? 0
        }
        return forgotten
    }
}

/// What a sweep reads of a value.
private struct SweptHeader: Sendable {
    let name: RedisKey
    let stamp: [UInt8]
    let asOf: InvalidationNumber
    let tags: [TagName]

    /// How much of a value is read first: its header and, in most cases, all of its tags.
    private static let glimpse = Envelope.headerSize + 1_024

    /// `nil` for bytes that a sweep leaves alone.
    static func read(_ name: RedisKey, _ redis: RedisClient, schema: UInt32) async throws -> SweptHeader? {
        do {
            var bytes = try await redis.getRange(name, from: 0, through: glimpse - 1)
            guard bytes.starts(with: Envelope.magic), bytes.count > 3, bytes[3] == Envelope.formatVersion,
                let header = EnvelopeHeader(bytes), header.schema <= schema,
                header.keyHash == KeyNames.fingerprint(of: name.bytes)
            else { return nil }
            let end = Envelope.headerSize + Int(header.tagsLength)
            let stamp = Envelope.stamp(of: bytes)
            if bytes.count < end {
                bytes = try await redis.getRange(name, from: 0, through: end - 1)
                guard bytes.count == end, Envelope.stamp(of: bytes) == stamp else { return nil }
            }
            guard let tags = try? Envelope.tags(Array(bytes[Envelope.headerSize..<end])) else { return nil }
            return SweptHeader(name: name, stamp: stamp, asOf: header.asOf, tags: TagName.unique(tags))
        } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
            return nil
        }
    }
}
