extension Composed where Upper == MemoryLevel<Lower.Key, Lower.Value>, Lower.Key: KeyRepresentable {
    /// Reads entries that an earlier process has hibernated back into memory, as far as they still hold.
    ///
    /// ```swift
    /// let report = try await products.restore(from: "/var/lib/shop/products.warm")  // before requests come
    /// ```
    ///
    /// **Above Redis** no entry is believed before Redis has confirmed it. Once the cache hears of changes, it takes a
    /// ticket for each key, and then asks Redis for the header of its entry: 86 bytes, pipelined, 500 keys at a time.
    /// The entry is kept if it bears the stamp of the very write that Redis holds, no tag and no clear has voided it,
    /// and nothing has changed the key since its ticket was taken. It lives for as long as the header says, by the
    /// server's clock. So it is the entry that a read of Redis would give at this moment; only the value comes from the
    /// file.
    ///
    /// **Above a source** there is no way to tell what has changed meanwhile. Nothing is read back unless you say how
    /// old values may be (`unconfirmedUpTo`). Their age then counts on by the clock of this machine while no process
    /// runs. A clock that was set back to before the file was written voids them all; one that was set back by less
    /// makes them younger by as much. The file is removed before its first entry is used: values that this process
    /// changes must not come back with the next one.
    ///
    /// Entries that memory already has are newer and stay, and no entry is displaced for one that is read back. Values
    /// are decoded on the caller's task.
    ///
    /// - Parameters:
    ///   - path: The file. A missing file is no error.
    ///   - codec: How values became bytes; as it was given to ``hibernate(to:codec:limits:)``.
    ///   - maximumAge: Above a source, how old a value may become before it is no longer served; `nil`, the default,
    ///     reads nothing back. Ignored above Redis.
    ///   - limit: When to stop, whatever is left; 10 seconds by default. The wait for Redis is part of it, and ends
    ///     after 5 seconds.
    ///   - reading: Makes a key from its ``KeyRepresentable/keyBytes``; needed for keys of a type of your own, and not
    ///     for `String`, integers, `UUID` and types with such a raw value.
    /// - Returns: What was read back, and what happened to the rest, damaged records included.
    /// - Throws: ``HibernationError`` for a file that cannot be used at all, which stays where it is; above Redis, the
    ///   error that keeps it from being asked; `CancellationError`, and then the entries that were read back stay.
    @discardableResult
    public func restore(
        from path: String,
        codec: Codec<Value>? = nil,
        unconfirmedUpTo maximumAge: Duration? = nil,
        within limit: Duration = .seconds(10),
        reading: (@Sendable ([UInt8]) -> Key?)? = nil
    ) async throws -> RestorationReport {
        try await restore(
            from: path,
            codec: codec,
            unconfirmedUpTo: maximumAge,
            within: limit,
            reading: reading,
            wallTime: WallTime.now
        )
    }

    /// The same with a clock of the caller's choice, for tests.
    package func restore(
        from path: String,
        codec: Codec<Value>?,
        unconfirmedUpTo maximumAge: Duration?,
        within limit: Duration,
        reading: (@Sendable ([UInt8]) -> Key?)?,
        wallTime: Int64
    ) async throws -> RestorationReport {
        let form = try HibernationForm(below: lower, codec: codec)
        guard reading != nil || Key.isReadable else {
            throw HibernationError(.unreadableKeys, "keys of this type cannot be made from their bytes: pass reading:")
        }
        // A level that hears of changes but cannot say what it missed may have missed some.
        guard form.confirming != nil || maximumAge != nil && lower.gate == nil else {
            throw HibernationError(.unconfirmable, "no level below memory can tell whether entries are still valid")
        }
        // From here on: what this process changes must not come back.
        let tagChanges = fillGate.tagChanges
        fillGate.voidLog.begin()
        defer { fillGate.voidLog.end() }
        var report = RestorationReport()
        let end = MonotonicInstant.now.advanced(by: limit)
        guard let reader = try await Self.onThread({ try HibernationReader(path) }) else { return report }
        report.hasFile = true
        guard reader.header.nameHash == XXH64.hash(form.name) else {
            throw HibernationError(.otherCache, "the file belongs to another cache")
        }
        do { try form.codec.check(reader.header.encoded([])) } catch {
            throw HibernationError(.otherForm, "the values have another codec, compression, protection or schema")
        }
        let judge: RestorationJudge<Key, Value>
        if let confirming = form.confirming {
            try await confirming.readyToConfirm(within: min(limit, .longestStartWait))
            judge = .level(confirming)
        } else {
            let away = Duration.milliseconds(wallTime) - .milliseconds(reader.header.writtenAt)
            judge = .age(maximumAge ?? .zero, away: away, at: time.now, tagChanges: tagChanges)
            try await Self.onThread { try reader.remove() }
        }
        while true {
            try Task.checkCancellation()
            guard .now < end else {
                report.left = reader.rest
                break
            }
            let records: [HibernationRecord]
            do {
                records = try await Self.onThread { try reader.next(500) }
            } catch let error as HibernationError {
                report.failure = error
                break
            }
            guard !records.isEmpty else {
                if reader.isAtEnd { break }
                continue
            }
            try await restore(records, reader.header, form, judge, reading, &report)
        }
        report.unreadable += reader.damaged
        report.isWhole = reader.isWhole || report.left > 0
        return report
    }

    private func restore(
        _ records: [HibernationRecord],
        _ header: HibernationHeader,
        _ form: HibernationForm<Key, Value>,
        _ judge: RestorationJudge<Key, Value>,
        _ reading: (@Sendable ([UInt8]) -> Key?)?,
        _ report: inout RestorationReport
    ) async throws {
        var candidates: [(key: Key, record: HibernationRecord)] = []
        for record in records {
            let key = reading.map { $0(record.key) } ?? Key.reading(record.key)
            guard let key, key.keyBytes == record.key else {
                report.unreadable += 1
                continue
            }
            guard upper.lacks(key, isRead: false) else {
                report.held += 1
                continue
            }
            candidates.append((key, record))
        }
        // Before any ticket is taken: what is kept without a link is kept for a while from here on.
        let start = time.now
        let outcomes: [EntryConfirmation]
        do {
            outcomes = try await self.outcomes(of: candidates, judge, at: start)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            report.unconfirmed += candidates.count
            report.failure = report.failure ?? error
            return
        }
        var settled: [(key: Key, frequency: Int)] = []
        for ((key, record), outcome) in zip(candidates, outcomes) {
            switch outcome {
            case .changed: report.changed += 1
            case .void: report.invalidated += 1
            case .expired: report.expired += 1
            case .unknown: report.unconfirmed += 1
            case .holds(let outline):
                guard let content = content(of: record, header, form, key) else {
                    report.unreadable += 1
                    continue
                }
                let entry = entry(content, outline, record, judge, at: start)
                if await keep(restored: entry, for: key, askedAt: start, &report) {
                    settled.append((key, Int(record.frequency)))
                }
            }
        }
        upper.settle(settled)
    }

    /// What happened to entries while no process had them.
    private func outcomes(
        of candidates: [(key: Key, record: HibernationRecord)],
        _ judge: RestorationJudge<Key, Value>,
        at start: MonotonicInstant
    ) async throws -> [EntryConfirmation] {
        switch judge {
        case .level(let level):
            let held = candidates.map { key, record in
                HeldEntry(key, version: record.version, isAbsence: record.isAbsence, tags: record.tags)
            }
            let outcomes = try await level.confirm(held)
            return outcomes.count == held.count ? outcomes : held.map { _ in .unknown }
        case .age(let maximumAge, let awayThen, let then, let tagChanges):
            // The restoration itself takes time.
            let away = awayThen + then.duration(to: start)
            return candidates.map { key, record in
                let fingerprint = lower.fingerprint(of: key)
                let ticket = fillGate.ticket(for: fingerprint)
                let seal = fillGate.seal(record.tags)
                // After these: a change that comes later voids them.
                guard !fillGate.voidLog.has(fingerprint) else { return .changed }
                guard record.tags.isEmpty || fillGate.tagChanges == tagChanges else { return .void }
                return record.outcome(upTo: maximumAge, away: away, at: start, ticket, seal)
            }
        }
    }

    private func content(
        of record: HibernationRecord,
        _ header: HibernationHeader,
        _ form: HibernationForm<Key, Value>,
        _ key: Key
    ) -> Entry<Value>.Content? {
        let (sealed, place) = (header.encoded(record.payload), form.place(key))
        if record.isAbsence { return (try? form.codec.openAbsence(sealed, at: place)).map { .absent } }
        return (try? form.codec.open(sealed, at: place)).map { .value($0) }
    }

    /// The entry as memory keeps it: by no lifetime longer than it had left when it was written.
    private func entry(
        _ content: Entry<Value>.Content,
        _ outline: Entry<Never>,
        _ record: HibernationRecord,
        _ judge: RestorationJudge<Key, Value>,
        at start: MonotonicInstant
    ) -> Entry<Value> {
        var entry = Entry<Value>(
            content,
            freshUntil: min(outline.freshUntil, start.after(nanoseconds: record.freshFor)),
            staleUntil: min(outline.staleUntil, start.after(nanoseconds: record.staleFor)),
            revalidateUntil: outline.revalidateUntil,
            storedAt: outline.storedAt,
            version: outline.version,
            tags: outline.tags,
            fetchDuration: outline.fetchDuration,
            origin: outline.origin,
            ticket: outline.ticket,
            seal: outline.seal,
            asOf: outline.asOf
        )
        lower.policy?.complete(&entry)
        return entry
    }

    /// Keeps an entry, unless it has become void meanwhile or would displace another.
    private func keep(
        restored entry: Entry<Value>,
        for key: Key,
        askedAt start: MonotonicInstant,
        _ report: inout RestorationReport
    ) async -> Bool {
        guard entry.isUsable(at: time.now) else {
            report.expired += 1
            return false
        }
        guard fillGate.isLive(entry.ticket), entry.seal?.isLive != false else {
            report.changed += 1
            return false
        }
        guard upper.hasRoom(for: upper.limit.weight(of: entry)) else {
            report.refused += 1
            return false
        }
        var entry = entry
        entry.filling = fillGate
        do {
            guard try await keep(entry, for: key, askedAt: start) != .void else {
                report.changed += 1
                return false
            }
        } catch {
            report.refused += 1
            return false
        }
        report.restored += 1
        return true
    }
}

/// What decides whether an entry of a file still holds.
enum RestorationJudge<Key: KeyRepresentable, Value: Sendable>: Sendable {
    /// The level that all processes share.
    case level(any ConfirmingLevel<Key, Value>)
    /// Nothing but its age: the entry may become so old, and no process had had it for so long at a time. The count of
    /// invalidations by tag is the one at the beginning: entries that were invalidated since may be in the file.
    case age(Duration, away: Duration, at: MonotonicInstant, tagChanges: UInt64)
}

extension HibernationRecord {
    /// What happened to the entry, judged by its age alone.
    fileprivate func outcome(
        upTo maximumAge: Duration,
        away: Duration,
        at now: MonotonicInstant,
        _ ticket: Ticket,
        _ seal: TagSeal?
    ) -> EntryConfirmation {
        // A clock that was set back does not tell how much time has passed; it may be corrected by a moment.
        guard away > .seconds(-2) else { return .expired }
        let away = max(away, .zero)
        // The file may say anything.
        let storedAt = now.advanced(by: .zero - .nanoseconds(age)).advanced(by: .zero - away)
        func end(_ span: Int64) -> MonotonicInstant {
            let own = span == .max ? .distantFuture : now.after(nanoseconds: span).advanced(by: .zero - away)
            return min(own, storedAt.advanced(by: maximumAge))
        }
        let outline = Entry<Never>(
            .absent,
            freshUntil: end(freshFor),
            staleUntil: end(staleFor),
            revalidateUntil: end(revalidateFor),
            storedAt: storedAt,
            version: version,
            tags: tags,
            fetchDuration: .microseconds(Int64(fetchDuration)),
            origin: .memory,
            ticket: ticket,
            seal: seal
        )
        return outline.isUsable(at: now) ? .holds(outline) : .expired
    }
}

extension MonotonicInstant {
    /// This instant plus a span; the longest span never ends.
    fileprivate func after(nanoseconds: Int64) -> MonotonicInstant {
        nanoseconds == .max ? .distantFuture : advanced(byNanoseconds: nanoseconds)
    }
}
