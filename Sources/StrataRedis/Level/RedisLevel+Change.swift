public import Strata

// An update reads the envelope and replaces it by a script that compares the version stamp. A late or repeated script
// finds another version, so sending one again does no harm; what cannot be told afterwards is an error that says so.
// Unlike a failed set, a failed update removes nothing: the old value is as right as the new one.
extension RedisLevel: AtomicLevel {
    /// What Redis has of a key, past memory.
    ///
    /// One round trip while the link stands, otherwise two.
    ///
    /// - Throws: ``/Strata/CacheError/Code/conflict`` while a failed removal of the key waits to be repeated;
    ///   ``/Strata/CacheError/Code/codec`` for a value of a newer release, or of another codec or type, which is left
    ///   alone; ``RedisError``;
    ///   `CancellationError`.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? {
        if shared.arrival.isPending { await linkArrives() }
        let names = names(for: key)
        return try await redis.budgeted { try await current(names) }
    }

    private func current(_ names: KeyNames) async throws -> CurrentEntry<Value> {
        let (finding, mark) = try await find(names) { try await open($0, names, $1, .nothing, $2) }
        return CurrentEntry(finding.entry, mark: mark)
    }

    /// Reads a key in order to change it.
    ///
    /// - Parameters:
    ///   - names: The names of the key.
    ///   - open: Gets the bytes, a ticket from before, and the marks that were read beside them.
    /// - Returns: The present value, and the mark by which it is recognized again.
    /// - Throws: As ``current(_:)``.
    func find(
        _ names: KeyNames,
        _ open: (_ bytes: [UInt8]?, _ ticket: Ticket, _ asked: TagMarks.Asked?) async throws -> Finding
    ) async throws -> (Finding, ChangeMark) {
        let start = redis.clock.now
        let tags = shared.tags(of: names.part)
        // Before the value is read: an invalidation from now on voids what is made of it.
        let asOf = try await counting { try await tags.asOfNow(redis) }
        let ticket = shared.ticket(for: names.fingerprint)
        let pending = redis.outage.replay.reach(over: names, keyspace)
        let (bytes, asked) = try await counting { try await read(names) }
        let finding = try await confirmed(open(bytes, ticket, asked), of: names, asOf, asked)
        count([finding])
        if finding.belongsToNewerRelease {
            throw CacheError(code: .codec, message: "a newer release has written the value; it is not changed")
        }
        if try await isOfAnotherMaking(finding, bytes, names, pending) {
            throw CacheError(code: .codec, message: "another codec or type has written the value; it is not changed")
        }
        // What is stored now, or made of a value that this instance wants to remove, might be removed with that.
        let isPending = if case .void(_, because: .invalidationPending) = finding { true } else { false }
        if isPending || pending == .everything || finding.entry.map({ pending.covers($0.tags) }) == true {
            redis.outage.replay.hurry((names, keyspace))
            throw CacheError(code: .conflict, message: "a failed removal of the key has not been repeated yet")
        }
        var mark = ChangeMark(stamp: bytes.map { Envelope.stamp(of: $0) }, takenAt: start)
        // Of nothing nothing is made: what has voided the value that lies there, and was not told here yet, voids no
        // later one. Nor does what came before a value that is valid, of which this instance may not have heard.
        mark.asOf = max(asOf, finding.entry?.asOf ?? tags.asOf)
        mark.isLive = finding.entry != nil
        mark.tags = finding.entry?.tags ?? []
        return (finding, mark)
    }

    /// Whether another codec, compression, protection or type has written the value, and nothing has voided it.
    ///
    /// It is right for the instances that can read it, so nothing takes its place as though there were none. Damaged
    /// bytes are right for none.
    private func isOfAnotherMaking(
        _ finding: Finding,
        _ bytes: [UInt8]?,
        _ names: KeyNames,
        _ pending: PendingInvalidations.Reach
    ) async throws -> Bool {
        guard case .unusable(let fault, _) = finding, let bytes else { return false }
        switch fault {
        case .unknownContent, .undecodable: break
        default: return false
        }
        guard let envelope = try? Envelope(bytes, keyHash: names.keyHash) else { return true }
        return try await end(of: envelope, names, pending) == nil
    }

    /// Replaces an entry that an invalidation up to a number has voided, which has not been told here yet.
    ///
    /// What is made of the entry bears the number, and no later report could void it any more.
    ///
    /// One round trip while such a report may be on its way; none otherwise, and none where the server was asked
    /// already.
    private func confirmed(
        _ finding: Finding,
        of names: KeyNames,
        _ asOf: InvalidationNumber,
        _ asked: TagMarks.Asked?
    ) async throws -> Finding {
        guard case .entry(let entry, let bytes) = finding, entry.asOf < asOf else { return finding }
        let tags = shared.tags(of: names.part)
        guard asked == nil || tags.isKnown, !tags.isComplete(upTo: asOf) else { return finding }
        let question = (entry.asOf, TagName.unique(entry.tags))
        let isValid = try await counting { try await tags.admits([question], nil, redis, asksServer: true) } == [true]
        return isValid ? finding : voided(entry, bytes, names.part)
    }

    /// Replaces or removes the value that was read, if it is still there.
    ///
    /// One round trip; more if connections break, within the client's budget. Two more if a tag of the old value is not
    /// a tag of the new one: an invalidation of that tag voids the new value too, and would otherwise not be seen.
    ///
    /// - Throws: ``/Strata/CacheError/Code/conflict``; ``/Strata/CacheError/Code/outcomeUnknown`` when the answer was
    ///   lost and the present value does not tell; the errors of ``commit(_:for:)``, and then nothing was changed.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        let names = names(for: key)
        if entry == nil {
            shared.changes?.begins(names.fingerprint)
            void(names)
        }
        let before = shared.ticket(for: names.fingerprint)
        do {
            try await redis.budgeted {
                if let entry { try await replace(entry, names, mark) } else { try await remove(names, mark) }
            }
        } catch {
            // The server may have done it all the same.
            if !CacheError.isConflict(error) {
                void(names, because: entry == nil ? .removed : .replaced)
            }
            throw error
        }
        guard entry != nil else {
            void(names)
            return .void
        }
        redis.cache.tags.void(names, in: keyspace, because: .replaced, but: shared.tags(of: names.part))
        return shared.gate.renew(before, for: names.fingerprint) ?? .void
    }

    private func replace(_ entry: Entry<Value>, _ names: KeyNames, _ mark: ChangeMark) async throws {
        let sealed = try await seal(entry, names, after: mark)
        let kept = Set(TagName.unique(entry.tags))
        let dropped = TagName.unique(mark.tags).filter { !kept.contains($0) }
        guard try await areValid(dropped, names, mark) else { throw CacheError.conflict }
        shared.beginWrite(names, sealed.entry.version)
        do {
            try await apply(ChangeScripts.replace, names, isOfAbsence: mark.stamp == nil) { deadline in
                [sealed.bytes, sealed.expiry, deadline, Self.argument(mark.stamp), sealed.entry.version.bytes]
            }
        } catch {
            shared.abandonWrite(names, sealed.entry.version)
            throw error
        }
        guard !dropped.isEmpty else { return }
        try await takeBack(sealed, names, ifVoid: dropped, mark)
    }

    /// Removes what was just stored, if an invalidation has voided the value that it was made of before it was there.
    ///
    /// - Throws: ``/Strata/CacheError/Code/conflict`` when it was, and is gone;
    ///   ``/Strata/CacheError/Code/outcomeUnknown`` when that is not known; a removal that has failed is repeated, also
    ///   of what others have made of the value meanwhile.
    private func takeBack(
        _ sealed: Sealed,
        _ names: KeyNames,
        ifVoid tags: [TagName],
        _ mark: ChangeMark
    ) async throws {
        do {
            guard try await !areValid(tags, names, mark) else { return }
        } catch let error as RedisError {
            throw outcomeUnknown(error)
        }
        void(names)
        do {
            try await remove(names, ChangeMark(stamp: Envelope.stamp(of: sealed.bytes), takenAt: mark.takenAt))
        } catch let error as CacheError where error.code == .conflict {
            throw CacheError(
                code: .outcomeUnknown,
                message: "a tag of the old value was invalidated, and others have changed the new one since"
            )
        } catch {
            redis.outage.replay.record(.key(names, keyspace), .removal, for: longestLifetime, redis)
            throw (error as? RedisError).map { outcomeUnknown($0) } ?? error
        }
        throw CacheError.conflict
    }

    /// Whether no invalidation of some tags has voided what was read.
    private func areValid(_ tags: [TagName], _ names: KeyNames, _ mark: ChangeMark) async throws -> Bool {
        guard !tags.isEmpty else { return true }
        return try await counting {
            try await shared.tags(of: names.part).admits([(mark.asOf, tags)], nil, redis, asksServer: true) == [true]
        }
    }

    private func remove(_ names: KeyNames, _ mark: ChangeMark) async throws {
        try await apply(ChangeScripts.removeUnchanged, names) { [keyspace] deadline in
            [
                deadline, Self.argument(mark.stamp), keyspace.events,
                KeyspaceEvent.invalidated.message(for: names),
            ]
        }
    }

    static func argument(_ stamp: [UInt8]?) -> [UInt8] {
        stamp.map { $0.isEmpty ? Array("none".utf8) : $0 } ?? []
    }

    /// Sends a change, and again when the answer was lost, as long as the budget lasts.
    ///
    /// A stamp that was read never comes back, so an attempt that arrives after a later one does nothing. That there is
    /// no value may come back: then a second attempt waits until the first can no longer be applied, and there is no
    /// third.
    func apply(
        _ script: RedisScript,
        _ names: KeyNames,
        isOfAbsence: Bool = false,
        _ arguments: (_ deadline: [UInt8]) -> [[UInt8]]
    ) async throws {
        var lost: RedisError?
        var wasLate = false
        let (start, limit) = (MonotonicInstant.now, try redis.outage.limit(CallBudget.current))
        let end = start.advanced(byNanoseconds: limit)
        /// Until when the next attempt may be applied.
        var until = isOfAbsence ? start.advanced(byNanoseconds: limit / 2) : end
        while true {
            let answer: Int64?
            do {
                answer = try await attempt(script, names, until: until, arguments, &lost)
            } catch let error as RedisError {
                // An earlier attempt may have changed it: only the script can tell.
                guard let lost else { throw error }
                guard .now < end, !isOfAbsence || until < end || error.effect == .notApplied else {
                    throw outcomeUnknown(lost)
                }
                var pause = Duration.milliseconds(5)
                if until < end {
                    let arrival = until.advanced(byNanoseconds: 2 * (clock(of: names).error + Self.clockDrift))
                    pause = max(pause, MonotonicInstant.now.duration(to: arrival))
                    until = end
                }
                try await CallBudget.charge { try await Task.pause(for: pause) }
                continue
            }
            switch answer {
            case 1: return
            case -2: throw lost.map { outcomeUnknown($0) } ?? .conflict
            case let other where other != 0: throw outcomeUnknown(lost ?? redis.unexpected(script.name))
            default:
                if let lost { throw outcomeUnknown(lost) }
                guard !wasLate, .now < end else {
                    throw RedisError(
                        code: .timeout,
                        message: "the change reached the server after its deadline",
                        endpoint: redis.configuration.place
                    )
                }
                // Too early by the known clock: the server's clock was set, or it is another server.
                wasLate = true
                until = end
                try await clock(of: names).readAnew()
            }
        }
    }

    /// Sends a change that may be applied until an instant.
    ///
    /// One round trip.
    ///
    /// - Parameters:
    ///   - script: The change.
    ///   - names: The names of the key.
    ///   - end: Until when it may be applied.
    ///   - arguments: Those of the script, with that instant.
    ///   - lost: Set to the error when the answer was lost.
    /// - Returns: The script's answer.
    /// - Throws: ``RedisError``; `CancellationError`.
    private func attempt(
        _ script: RedisScript,
        _ names: KeyNames,
        until end: MonotonicInstant,
        _ arguments: (_ deadline: [UInt8]) -> [[UInt8]],
        _ lost: inout RedisError?
    ) async throws -> Int64? {
        let clock = clock(of: names)
        let offset = try await clock.offset()
        let limit = end.advanced(byNanoseconds: clock.error + Self.clockDrift).serverMilliseconds(offset: offset)
        let arguments = arguments(Array(String(limit).utf8))
        do {
            return try await counting {
                try await redis.guarded(.write, for: names.value) { timeout in
                    try await redis.run(
                        script,
                        keys: [names.value, names.lease],
                        arguments: arguments,
                        repetition: .once,
                        timeout: timeout
                    )
                }
            }
            .integer
        } catch let error as RedisError {
            // An error reply says that this attempt has changed nothing, but for one in the middle of the script.
            if let text = error.serverMessage, RedisError.isOfScript(text) {
                throw CacheError(
                    code: .outcomeUnknown,
                    message: "the server has refused a part of the change (\(RedisError.printableCode(of: text)))",
                    causes: [error]
                )
            }
            if error.effect == .ambiguous, error.serverMessage == nil, lost == nil { lost = error }
            throw error
        }
    }

    private func outcomeUnknown(_ error: RedisError) -> CacheError {
        CacheError(
            code: .outcomeUnknown,
            message: "the answer was lost (\(error.code)), and what is stored does not show whether it was changed",
            causes: [error]
        )
    }

    /// Seals an entry that follows from one that was read.
    ///
    /// A lifetime that begins with the reading ends early by the error of the clock: otherwise each change would make
    /// the next one's longer by that.
    private func seal(_ entry: Entry<Value>, _ names: KeyNames, after mark: ChangeMark) async throws -> Sealed {
        guard entry.storedAt != .distantPast, entry.freshUntil != .distantFuture else {
            return try await seal(entry, names, fetchedSince: mark.takenAt.advanced(by: .zero - entry.fetchDuration))
        }
        let clock = clock(of: names)
        _ = try await clock.offset()
        let error = clock.error
        var entry = entry
        if entry.storedAt < mark.takenAt {
            // Kept: the error was subtracted when it was first written.
            entry.storedAt = entry.storedAt.advanced(byNanoseconds: error)
        } else {
            entry.freshUntil = entry.freshUntil.advanced(byNanoseconds: -error)
            entry.staleUntil = entry.staleUntil.advanced(byNanoseconds: -error)
        }
        return try await seal(entry, names, fetchedSince: entry.storedAt.advanced(by: .zero - entry.fetchDuration))
    }
}
