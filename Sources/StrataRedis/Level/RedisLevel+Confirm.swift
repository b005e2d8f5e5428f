package import Strata

// What an earlier process held is asked for by the header of what Redis holds now. It is believed by the rules of a
// read: the ticket is taken first, then Redis is looked at, then the numbers of tags and clears. A version never comes
// back, so what bears the stamp that Redis holds is what Redis holds.
extension RedisLevel: ConfirmingLevel {
    /// The keyspace, with its version, and the codec.
    package var confirmation: ConfirmationPlace<Key, Value>? {
        ConfirmationPlace(name: keyspace.values, codec: codec) { [keyspace, shared] key in
            keyspace.names(for: key.keyBytes, isDivided: shared.isDivided).value.bytes
        }
    }

    package func readyToConfirm(within limit: Duration) async throws { try await ready(within: limit) }

    /// What has become of entries: one GETRANGE of 86 bytes each, all at once, and one HMGET where tags have to be
    /// asked for.
    package func confirm(_ held: [HeldEntry<Key>]) async throws -> [EntryConfirmation] {
        let names = held.map { self.names(for: $0.key) }
        // Both before Redis is looked at: a change that comes later shows in them.
        let tickets = names.map { shared.gate.ticket(for: $0.fingerprint) }
        let seals = held.map { shared.gate.seal($0.tags) }
        let pending = names.map { redis.outage.replay.reach(over: $0, keyspace) }
        return try await redis.budgeted {
            let looks = await headers(of: names)
            // One failure may be a slot's; a failure of all is that of the server.
            if let failure = looks.first?.failure, looks.allSatisfy({ $0.failure != nil }) { throw failure }
            var confirmations: [EntryConfirmation] = []
            for (place, look) in looks.enumerated() {
                guard let header = try? look.get() else {
                    confirmations.append(.unknown)
                    continue
                }
                // Without a link nothing would tell of the next change.
                guard coherence != .tracking || !tickets[place].isTimed else {
                    confirmations.append(.unknown)
                    continue
                }
                guard !pending[place].covers(held[place].tags) else {
                    confirmations.append(.void)
                    continue
                }
                let confirmed = try await outline(held[place], names[place], header, tickets[place], seals[place])
                confirmations.append(confirmed)
            }
            return try await judged(confirmations, names)
        }
    }

    /// The first bytes of values, as far as they lie there.
    private func headers(of names: [KeyNames]) async -> [Result<[UInt8], any Error>] {
        await CallBudget.together {
            await names.outcomes { [self] names in
                try await counting {
                    try await redis.guarded(.read, for: names.value) { timeout in
                        do {
                            return try await redis.getRange(
                                names.value,
                                from: 0,
                                through: Envelope.headerSize - 1,
                                timeout: timeout
                            )
                        } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
                            return []
                        }
                    }
                }
            }
        }
    }

    /// What a header says of an entry; whether a tag or a clear has voided it is not looked at.
    private func outline(
        _ held: HeldEntry<Key>,
        _ names: KeyNames,
        _ bytes: [UInt8],
        _ ticket: Ticket,
        _ seal: TagSeal?
    ) async throws -> EntryConfirmation {
        guard bytes.starts(with: Envelope.magic), bytes.count == Envelope.headerSize,
            bytes[Envelope.magic.count] == Envelope.formatVersion, let header = EnvelopeHeader(bytes),
            header.keyHash == names.keyHash, held.version != .none,
            EntryVersion(high: header.versionHigh, low: header.versionLow) == held.version,
            header.kind == (held.isAbsence ? Envelope.Kind.absence : .value).rawValue,
            Int(header.tagsLength) == held.tags.reduce(0, { $0 + 2 + $1.utf8.count })
        else { return .changed }
        let offset = try await offset(of: header.storedAt, names)
        let outline = Entry<Never>(
            .absent,
            freshUntil: MonotonicInstant(serverMilliseconds: header.freshUntil, offset: offset),
            staleUntil: MonotonicInstant(serverMilliseconds: header.staleUntil, offset: offset),
            storedAt: MonotonicInstant(serverMilliseconds: header.storedAt, offset: offset),
            version: held.version,
            tags: held.tags,
            fetchDuration: .microseconds(Int64(header.fetchDuration)),
            origin: .redis,
            ticket: ticket,
            seal: seal,
            asOf: header.asOf
        )
        return isInTime(outline) ? .holds(outline) : .expired
    }

    /// Replaces what a tag or a clear has voided.
    private func judged(_ confirmations: [EntryConfirmation], _ names: [KeyNames]) async throws -> [EntryConfirmation] {
        var judged = confirmations
        let places = confirmations.indices.filter { if case .holds = confirmations[$0] { true } else { false } }
        for (part, places) in Dictionary(grouping: places, by: { names[$0].part }) {
            let tags = shared.tags(of: part)
            tags.used()
            let questions = places.compactMap { place -> (asOf: InvalidationNumber, tags: [TagName])? in
                guard case .holds(let outline) = confirmations[place] else { return nil }
                return (outline.asOf, TagName.unique(outline.tags))
            }
            let verdicts = try await counting { try await tags.admits(questions, nil, redis) }
            for (place, isValid) in zip(places, verdicts) where !isValid { judged[place] = .void }
        }
        return judged
    }
}
