internal import Strata

extension RedisLevel {
    /// What a look at a key's name has found.
    enum Finding {
        case nothing
        case entry(Entry<Value>)
        /// Bytes that are no entry of this key and level. Nothing is deleted.
        case unusable(EnvelopeFault, stamp: [UInt8])
        /// An entry that was invalidated by a tag or a clear.
        case void(stamp: [UInt8])

        var entry: Entry<Value>? {
            if case .entry(let entry) = self { entry } else { nil }
        }

        /// Where a fetch has to replace what lies there: its version stamp.
        var stamp: [UInt8]? {
            switch self {
            case .nothing: nil
            case .entry(let entry): Envelope.stamp(of: entry.version)
            case .unusable(_, let stamp), .void(let stamp): stamp
            }
        }

        /// Whether a newer release has written what lies there; it is left to that.
        var belongsToOtherRelease: Bool {
            switch self {
            case .unusable(.newerFormat, _), .unusable(.otherSchema, _): true
            default: false
            }
        }
    }

    /// Makes an entry of what was found, if it stands.
    func open(
        _ bytes: [UInt8]?,
        _ names: KeyNames,
        _ ticket: Ticket,
        _ asked: TagMarks? = nil
    ) async throws -> Finding {
        try await admitted(decode(bytes, names, ticket), asked)
    }

    /// Makes an entry of what was found, valid or not.
    func decode(_ bytes: [UInt8]?, _ names: KeyNames, _ ticket: Ticket) async throws -> Finding {
        guard let bytes else {
            counters.add(\.misses)
            return .nothing
        }
        let offset = try await clock.offset()
        do {
            return .entry(try entry(of: bytes, names, ticket, clockOffset: offset))
        } catch {
            counters.add(\.unusable)
            return .unusable(error, stamp: Envelope.stamp(of: bytes))
        }
    }

    func entry(
        of bytes: [UInt8],
        _ names: KeyNames,
        _ ticket: Ticket,
        clockOffset offset: Int64
    ) throws(EnvelopeFault) -> Entry<Value> {
        let envelope = try Envelope(bytes, keyHash: names.fingerprint)
        guard envelope.schema == schema else { throw .otherSchema }
        return Entry(
            try content(of: envelope),
            freshUntil: MonotonicInstant(serverMilliseconds: envelope.freshUntil, offset: offset),
            staleUntil: MonotonicInstant(serverMilliseconds: envelope.staleUntil, offset: offset),
            version: envelope.version,
            tags: envelope.tags,
            fetchDuration: .microseconds(Int64(envelope.fetchDuration)),
            origin: .redis,
            ticket: ticket,
            // Before the numbers of the tags are looked at.
            seal: gate?.seal(envelope.tags),
            asOf: envelope.asOf
        )
    }

    private func content(of envelope: Envelope) throws(EnvelopeFault) -> Entry<Value>.Content {
        switch envelope.kind {
        case .absence: return .absent
        case .failure: throw .unknownContent
        case .value:
            guard envelope.codec == codec.identifier else { throw .unknownContent }
            do { return .value(try codec.decode(envelope.payload)) } catch { throw .undecodable }
        }
    }

    /// What is written for an entry: the envelope, and in how many milliseconds Redis drops it.
    struct Sealed {
        var bytes: [UInt8]
        var expiry: [UInt8]
        /// The entry as others will read it.
        var entry: Entry<Value>
    }

    /// Gives an entry that has none a lifetime by the policy, and a new version; then encodes it.
    func seal(_ entry: Entry<Value>, _ names: KeyNames) async throws -> Sealed {
        try TagLimits.check(entry.tags)
        let asOf = entry.asOf == 0 ? try await shared.tags.asOfNow(redis) : entry.asOf
        let offset = try await clock.offset()
        let now = MonotonicInstant.now
        var sealed = entry
        sealed.asOf = asOf
        if entry.freshUntil == .distantFuture {
            let lifetimes = freshness.lifetimes(of: entry.content, fingerprint: names.fingerprint)
            sealed.freshUntil = now.advanced(by: lifetimes.fresh)
            sealed.staleUntil = now.advanced(by: lifetimes.kept)
        }
        if !entry.tags.isEmpty {
            // Invalidations of its tags are not remembered for longer.
            let end = now.advanced(by: Self.tagMemory)
            sealed.staleUntil = min(sealed.staleUntil, end)
            sealed.freshUntil = min(sealed.freshUntil, end)
        }
        sealed.version = .random()
        var envelope = Envelope(
            kind: entry.value == nil ? .absence : .value,
            codec: codec.identifier,
            keyHash: names.fingerprint,
            version: sealed.version,
            storedAt: now.serverMilliseconds(offset: offset),
            freshUntil: sealed.freshUntil.serverMilliseconds(offset: offset),
            staleUntil: sealed.staleUntil.serverMilliseconds(offset: offset),
            payload: try entry.value.map { try codec.encode($0) } ?? []
        )
        envelope.schema = schema
        envelope.tags = entry.tags
        envelope.asOf = asOf
        envelope.fetchDuration = UInt32(clamping: entry.fetchDuration.saturatedNanoseconds / 1_000)
        let remaining = max(1, (now.nanoseconds(to: sealed.staleUntil) + 999_999) / 1_000_000)
        return Sealed(bytes: try envelope.encoded(), expiry: Array(String(remaining).utf8), entry: sealed)
    }
}
