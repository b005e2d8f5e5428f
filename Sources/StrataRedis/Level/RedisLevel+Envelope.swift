internal import Strata

extension RedisLevel {
    /// The result of reading a key's name.
    enum Finding {
        case nothing
        case entry(Entry<Value>, bytes: [UInt8])
        /// Bytes that are no entry of this key and level. Nothing is deleted.
        case unusable(EnvelopeFault, stamp: [UInt8])
        /// An entry that a tag, a clear or a pending invalidation has voided, or that has expired.
        case void(stamp: [UInt8], because: ReadTrace.Reason)

        var entry: Entry<Value>? {
            if case .entry(let entry, _) = self { entry } else { nil }
        }

        /// The envelope of the entry.
        var bytes: [UInt8]? {
            if case .entry(_, let bytes) = self { bytes } else { nil }
        }

        /// The version stamp of the value that a fetch replaces.
        var stamp: [UInt8]? {
            switch self {
            case .nothing: nil
            case .entry(_, let bytes): Envelope.stamp(of: bytes)
            case .unusable(_, let stamp), .void(let stamp, _): stamp
            }
        }

        /// Why there is no entry; `nil` when there is one.
        var reason: ReadTrace.Reason? {
            switch self {
            case .nothing: .absent
            case .entry: nil
            case .unusable(let fault, _): ReadTrace.Reason(fault)
            case .void(_, let reason): reason
            }
        }

        /// Whether a newer release wrote the value, which is then left alone.
        ///
        /// The value of an older release is replaced.
        var belongsToNewerRelease: Bool {
            switch self {
            case .unusable(.newerFormat, _), .unusable(.newerSchema, _): true
            default: false
            }
        }
    }

    /// The entry of some bytes, if it is valid.
    ///
    /// It is not counted: a read may look more than once.
    func open(
        _ bytes: [UInt8]?,
        _ names: KeyNames,
        _ ticket: Ticket,
        _ pending: PendingInvalidations.Reach,
        _ asked: TagMarks.Asked? = nil
    ) async throws -> Finding {
        try await admitted(decode(bytes, names, ticket, pending), of: names, asked)
    }

    /// The entry of some bytes, valid or not, unless a pending invalidation voids it.
    func decode(
        _ bytes: [UInt8]?,
        _ names: KeyNames,
        _ ticket: Ticket,
        _ pending: PendingInvalidations.Reach
    ) async throws -> Finding {
        guard let bytes else { return .nothing }
        let offset = try await clock(of: names).offset()
        var found = decode(bytes, names, ticket, pending, clockOffset: offset)
        if isAhead(found, bytes, offset) {
            let anew = try await self.offset(of: EnvelopeHeader(bytes)?.storedAt, names)
            if anew != offset { found = decode(bytes, names, ticket, pending, clockOffset: anew) }
        }
        return try await standing(found, bytes, names, pending)
    }

    /// The entries of the values of several keys, valid or not, as for a single one.
    func decode(
        _ values: [[UInt8]?],
        _ names: [KeyNames],
        _ tickets: [Ticket],
        _ pending: [PendingInvalidations.Reach]
    ) async throws -> [Finding] {
        var findings: [Finding] = []
        findings.reserveCapacity(values.count)
        var known: (clock: ServerClock, offset: Int64)?
        for (index, bytes) in values.enumerated() {
            let clock = clock(of: names[index])
            guard let bytes, known?.clock === clock, let offset = known?.offset else {
                findings.append(try await decode(bytes, names[index], tickets[index], pending[index]))
                if bytes != nil { known = (clock, try await clock.offset()) }
                continue
            }
            let found = decode(bytes, names[index], tickets[index], pending[index], clockOffset: offset)
            if found.belongsToNewerRelease || isAhead(found, bytes, offset) {
                findings.append(try await decode(bytes, names[index], tickets[index], pending[index]))
                known = (clock, try await clock.offset())
            } else {
                findings.append(found)
            }
        }
        return findings
    }

    /// The entry of some bytes, valid or not, unless a pending invalidation voids it.
    private func decode(
        _ bytes: [UInt8],
        _ names: KeyNames,
        _ ticket: Ticket,
        _ pending: PendingInvalidations.Reach,
        clockOffset offset: Int64
    ) -> Finding {
        do {
            var entry = try entry(of: bytes, names, ticket, clockOffset: offset)
            // One that has failed since Redis was asked was noted before the entry was sealed, or voids the seal.
            let present = redis.outage.replay.reach(over: names, keyspace)
            guard !(pending.covers(entry.tags) || present.covers(entry.tags)) else {
                return .void(stamp: Envelope.stamp(of: bytes), because: .invalidationPending)
            }
            // The lease of a fetch in its place keeps the value longer than that.
            guard isInTime(entry) else { return .void(stamp: Envelope.stamp(of: bytes), because: .expired) }
            freshness.complete(&entry)
            return .entry(entry, bytes: bytes)
        } catch {
            return .unusable(error, stamp: Envelope.stamp(of: bytes))
        }
    }

    /// Replaces a value that a newer release has written and that is void: it is void for the releases that can read
    /// it, too.
    ///
    /// One round trip for a value of a newer release with tags, or without a link.
    func standing(
        _ finding: Finding,
        _ bytes: [UInt8],
        _ names: KeyNames,
        _ pending: PendingInvalidations.Reach
    ) async throws -> Finding {
        guard case .unusable(.newerSchema, let stamp) = finding,
            let envelope = try? Envelope(bytes, keyHash: names.keyHash),
            let reason = try await end(of: envelope, names, pending)
        else { return finding }
        return .void(stamp: stamp, because: reason)
    }

    /// Why an envelope with a readable header is void; `nil` if it is not.
    func end(
        of envelope: Envelope,
        _ names: KeyNames,
        _ pending: PendingInvalidations.Reach
    ) async throws -> ReadTrace.Reason? {
        let offset = try await offset(of: envelope.storedAt, names)
        let outline: Entry<Value> = entry(of: envelope, .absent, .none, clockOffset: offset)
        guard isInTime(outline) else { return .expired }
        guard !pending.covers(envelope.tags) else { return .invalidationPending }
        let question = (envelope.asOf, TagName.unique(envelope.tags))
        let isValid = try await counting { try await shared.tags(of: names.part).admits([question], nil, redis) }
        return isValid == [false] ? .voided : nil
    }

    /// Whether a value lies there that a newer release has written, so that none takes its place.
    ///
    /// One round trip where its header says so, and another as for any value with tags: a damaged or void value holds
    /// up no write.
    ///
    /// - Parameters:
    ///   - header: The first bytes of what lies there.
    ///   - names: The key's names.
    /// - Returns: Whether it does, or may.
    /// - Throws: ``RedisError``; `CancellationError`.
    func holdsNewerRelease(_ header: [UInt8], _ names: KeyNames) async throws -> Bool {
        guard header.starts(with: Envelope.magic), header.count > Envelope.magic.count else { return false }
        // What the rest means then is not known.
        guard header[Envelope.magic.count] <= Envelope.formatVersion else { return true }
        guard let fields = EnvelopeHeader(header), fields.schema > codec.schema else { return false }
        let pending = redis.outage.replay.reach(over: names, keyspace)
        let bytes = try await counting { try await redis.get(names.value) }
        // Another value has come meanwhile, or none is there any more: the next fetch deals with that.
        guard let bytes, Envelope.stamp(of: bytes) == Envelope.stamp(of: header) else { return true }
        guard let envelope = try? Envelope(bytes, keyHash: names.keyHash) else { return false }
        return try await end(of: envelope, names, pending) == nil
    }

    func entry(
        of bytes: [UInt8],
        _ names: KeyNames,
        _ ticket: Ticket,
        clockOffset offset: Int64
    ) throws(EnvelopeFault) -> Entry<Value> {
        let envelope = try Envelope(bytes, keyHash: names.keyHash)
        return entry(of: envelope, try content(of: envelope, names), ticket, clockOffset: offset)
    }

    func entry(
        of envelope: Envelope,
        _ content: Entry<Value>.Content,
        _ ticket: Ticket,
        clockOffset offset: Int64
    ) -> Entry<Value> {
        Entry(
            content,
            freshUntil: MonotonicInstant(serverMilliseconds: envelope.freshUntil, offset: offset),
            staleUntil: MonotonicInstant(serverMilliseconds: envelope.staleUntil, offset: offset),
            storedAt: MonotonicInstant(serverMilliseconds: envelope.storedAt, offset: offset),
            version: envelope.version,
            tags: envelope.tags,
            fetchDuration: .microseconds(Int64(envelope.fetchDuration)),
            origin: .redis,
            ticket: ticket,
            // Taken before the numbers of the tags are checked.
            seal: gate?.seal(envelope.tags),
            asOf: envelope.asOf
        )
    }

    private func content(of envelope: Envelope, _ names: KeyNames) throws(EnvelopeFault) -> Entry<Value>.Content {
        switch envelope.kind {
        case .absence:
            do { try codec.openAbsence(EncodedValue(envelope), at: names.value.bytes) } catch {
                throw fault(of: error, envelope)
            }
            return .absent
        case .failure: throw .unknownContent
        case .value:
            do {
                return .value(try codec.open(EncodedValue(envelope), at: names.value.bytes))
            } catch {
                throw fault(of: error, envelope)
            }
        }
    }

    func fault(of error: UnreadableValue, _ envelope: Envelope) -> EnvelopeFault {
        switch error {
        case .otherMaking: .unknownContent
        case .otherSchema: fault(ofSchema: envelope.schema)
        case .undecodable: .undecodable
        }
    }

    private func fault(ofSchema schema: UInt32) -> EnvelopeFault {
        schema > codec.schema ? .newerSchema : .olderSchema
    }

    /// The form in which an entry is written: the envelope, and its milliseconds to live.
    struct Sealed {
        var bytes: [UInt8]
        var expiry: [UInt8]
        /// The entry as others will read it.
        var entry: Entry<Value>
    }

    /// Gives an entry a new version unless it has one, and a lifetime by the policy if it has none; then encodes it.
    ///
    /// - Parameters:
    ///   - entry: The entry to write.
    ///   - names: The names of the key.
    ///   - start: An instant no later than the start of its fetch. The written time of storing, minus the duration of
    ///     the fetch, is never later: a repeated invalidation tells by it whether the value is older. An entry that
    ///     comes from a level below is as old as it was there.
    /// - Returns: The bytes, and the entry as others will read it.
    /// - Throws: ``RedisError``; ``/Strata/CacheError/Code/codec``; ``/Strata/CacheError/Code/tooLarge``;
    ///   `CancellationError`.
    func seal(
        _ entry: Entry<Value>,
        _ names: KeyNames,
        fetchedSince start: MonotonicInstant? = nil
    ) async throws -> Sealed {
        try TagLimits.check(entry.tags)
        let tags = shared.tags(of: names.part)
        tags.used()
        let asOf = entry.asOf == 0 ? try await tags.asOfNow(redis) : entry.asOf
        let clock = clock(of: names)
        let offset = try await clock.offset()
        let now = redis.clock.now
        // A fetch that this read has joined has taken longer than the read.
        let latest = min(now, start?.advanced(by: entry.fetchDuration) ?? now)
        let storedAt = entry.storedAt == .distantPast ? latest : min(latest, entry.storedAt)
        var sealed = freshness.stamping(entry, fingerprint: names.fingerprint, at: now)
        sealed.asOf = asOf
        limit(&sealed, at: now)
        sealed.version = entry.hasNewVersion ? entry.version : .random()
        sealed.hasNewVersion = false
        let place = names.value.bytes
        let encoded = try entry.value.map { try codec.seal($0, at: place) } ?? codec.sealAbsence(at: place)
        var envelope = Envelope(
            kind: entry.value == nil ? .absence : .value,
            codec: codec.identifier,
            keyHash: names.keyHash,
            version: sealed.version,
            storedAt: storedAt.advanced(byNanoseconds: -clock.error).serverMilliseconds(offset: offset),
            freshUntil: sealed.freshUntil.serverMilliseconds(offset: offset),
            staleUntil: sealed.staleUntil.serverMilliseconds(offset: offset),
            payload: encoded.bytes
        )
        envelope.compression = encoded.compression
        envelope.protection = encoded.protection
        envelope.schema = codec.schema
        envelope.tags = entry.tags
        envelope.asOf = asOf
        envelope.fetchDuration = UInt32(clamping: entry.fetchDuration.saturatedNanoseconds / 1_000)
        let bytes = try envelope.encoded()
        let longest = redis.configuration.replyLimits.longestValue
        guard bytes.count <= longest else {
            throw CacheError(
                code: .tooLarge,
                message: "an entry of \(bytes.count) bytes could not be read back: the client's limit is \(longest)"
            )
        }
        return Sealed(bytes: bytes, expiry: expiry(of: sealed, at: now), entry: sealed)
    }

    /// The header of an envelope in Redis, with the lifetime and the fetch of an entry, and a new version.
    ///
    /// The time of storing follows the same rule as in ``seal(_:_:fetchedSince:)``; without a start it stays.
    func reseal(
        _ bytes: [UInt8],
        _ entry: Entry<Value>,
        _ names: KeyNames,
        fetchedSince start: MonotonicInstant?
    ) async throws -> Sealed {
        let clock = clock(of: names)
        let offset = try await clock.offset()
        let now = redis.clock.now
        var sealed = entry
        limit(&sealed, at: now)
        sealed.version = .random()
        var envelope = try Envelope(bytes, keyHash: names.keyHash)
        envelope.version = sealed.version
        envelope.asOf = sealed.asOf
        if let start {
            let storedAt = min(now, start.advanced(by: entry.fetchDuration)).advanced(byNanoseconds: -clock.error)
            envelope.storedAt = storedAt.serverMilliseconds(offset: offset)
        }
        envelope.freshUntil = sealed.freshUntil.serverMilliseconds(offset: offset)
        envelope.staleUntil = sealed.staleUntil.serverMilliseconds(offset: offset)
        envelope.fetchDuration = UInt32(clamping: entry.fetchDuration.saturatedNanoseconds / 1_000)
        let header = Array(try envelope.encoded().prefix(Envelope.headerSize))
        return Sealed(bytes: header, expiry: expiry(of: sealed, at: now), entry: sealed)
    }

    /// Limits the life of an entry with tags to the time for which invalidations are remembered.
    private func limit(_ entry: inout Entry<Value>, at now: MonotonicInstant) {
        guard !entry.tags.isEmpty else { return }
        let end = now.advanced(by: Self.tagMemory)
        entry.shorten(to: end)
        entry.staleUntil = min(entry.staleUntil, end)
    }

    /// The milliseconds after which Redis drops an entry; later where a test's clock stands still meanwhile.
    private func expiry(of entry: Entry<Value>, at now: MonotonicInstant) -> [UInt8] {
        let left = now.nanoseconds(to: entry.staleUntil.advanced(by: redis.clock.storeMargin))
        return Array(String(max(1, left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0))).utf8)
    }
}

extension ReadTrace.Reason {
    /// Why bytes are no entry.
    init(_ fault: EnvelopeFault) {
        switch fault {
        case .truncated, .damaged, .undecodable: self = .damaged
        case .foreign, .otherKey: self = .foreign
        case .newerFormat, .unknownContent, .olderSchema, .newerSchema: self = .otherSchema
        }
    }
}

extension EncodedValue {
    /// The value of an envelope.
    init(_ envelope: Envelope) {
        self.init(
            bytes: envelope.payload,
            codec: envelope.codec,
            compression: envelope.compression,
            protection: envelope.protection,
            schema: envelope.schema
        )
    }
}
