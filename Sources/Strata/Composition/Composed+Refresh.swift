extension Composed {
    /// What a read may do with the upper level's entry.
    ///
    /// After a failed read below, not every read of a stale entry asks below again.
    func verdict(
        on entry: Entry<Value>,
        of key: Key,
        _ request: ReadRequest,
        at now: MonotonicInstant
    ) -> Verdict {
        let verdict = request.verdict(on: entry, at: now)
        guard verdict == .fallBack, request.isShareable, !entry.isSuspect,
            refreshes.isPaused(RefreshedEntry(key, entry), at: now)
        else {
            return verdict
        }
        request.recorder?.stale(because: .paused)
        return .serve
    }

    /// Fetches a key anew in the background, unless a fetch is running, with the source of the read that found the old
    /// entry.
    ///
    /// Its rights are taken here and not when its task begins: a change by the caller in between voids them, and the
    /// old entry with them.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - found: The old entry, as the upper level has it.
    ///   - asked: Taken before the upper level was asked.
    ///   - read: The read.
    ///   - early: A ticket from before the upper level was asked, where the read has one.
    func refresh(_ key: Key, _ found: Entry<Value>, _ asked: Asked, for read: ReadRequest, _ early: Ticket?) {
        let options = read.options.ofRefresh
        let heard = heardTicket(key)
        let ticket = early ?? fillGate.ticket(for: lower.fingerprint(of: key))
        guard let old = judged(found, key, asked, at: .now) else { return }
        refreshes.launch(key, RefreshedEntry(key, old), priority: options.priority) {
            [self, heard, callSource = read.asking(for: key).callSource, writesLater = read.writesLater] hint in
            let start = time.now
            var heard = heard
            if let rights = await rightsAbove([key], ReadRequest(), isFailing: false) {
                heard = heardTicket(key)
                heard.rights = rights
            }
            // The next read finds what has changed.
            guard fillGate.isLive(ticket), old.seal?.isLive != false else { return true }
            heard = heard.asking(upper.gate)
            var request = ReadRequest(options: options, purpose: .refresh(of: old.version))
                .having(old, asFallback: false)
            request.retryHint = hint
            request.writesLater = writesLater
            request.callSource = callSource
            let below = try await fetched(key, request.filling)
            let now = time.now
            guard let below, below.value != nil || below.isFresh(at: now) else {
                await removeOutdated(key, ticket, request)
                return true
            }
            guard below.isFresh(at: now) else { return false }
            _ = await filling(below, for: key, ticket, heard, request, askedAt: start)
            return now < below.refreshAt
        }
    }

    /// There is no value any more, and no absence to keep: removes an older entry above.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - ticket: Taken from the fill gate before the lower level was asked; void when the key has been changed since.
    ///   - request: The read.
    func removeOutdated(_ key: Key, _ ticket: Ticket, _ request: ReadRequest) async {
        guard request.options.source != .never, fillGate.isLive(ticket) else { return }
        fillGate.void(lower.fingerprint(of: key))
        do { try await removeAbove(key) } catch { failures.fill(error, of: upper) }
    }

    /// The lower level's entry for a refresh, which waits as long as the fetch takes: the refreshes have their own
    /// limit.
    private func fetched(_ key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        var request = request
        let left = LeftFlights()
        request.left = left
        do { return try await lower.entry(for: key, request) } catch {
            guard !left.isEmpty else { throw error }
            (request.left, request.awaited) = (nil, left)
            guard let below = try await lower.entry(for: key, request) else { throw error }
            return below
        }
    }

    /// Fills the upper level with the results of fetches that go on without their read.
    ///
    /// Each composition that the read has passed does that for its own level, by the rights that it took before it
    /// asked.
    ///
    /// - Parameters:
    ///   - keys: The keys that the lower level was asked for.
    ///   - left: The fetches that the read has left.
    ///   - tickets: Taken from the fill gate before the lower level was asked.
    ///   - heard: Taken before anything was asked.
    ///   - read: The read that has left.
    ///   - start: When the lower level was asked, by the levels' clock.
    func collect(
        _ keys: [Key],
        _ left: LeftFlights,
        _ tickets: [Ticket],
        _ heard: [Asked],
        _ read: ReadRequest,
        askedAt start: MonotonicInstant
    ) {
        guard !left.isEmpty else { return }
        read.left?.add(left)
        var request = read.filling
        (request.recorder, request.left, request.awaited) = (nil, nil, left)
        // Where levels below know keys under other names, the flights do not tell which keys they fetch.
        let meant = keys.indices.filter { left.has(keys[$0].hashValue) }
        for index in meant.isEmpty ? Array(keys.indices) : meant {
            refreshes.collect(keys[index], of: left.flight(of: keys[index].hashValue)) { [self, request] in
                guard let below = try await lower.entry(for: keys[index], request) else { return }
                _ = await filling(below, for: keys[index], tickets[index], heard[index], request, askedAt: start)
            }
        }
    }

    /// The request by which the lower level gets the result of a fetch that another read has left.
    ///
    /// It goes past this level, which still has the key.
    func awaited(_ key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        var entry = try await lower.entry(for: key, request)
        if hearing == .both { entry?.ticket = .void }
        return entry
    }
}

extension ReadRequest {
    /// Whether the read leaves out a level that has others below it.
    func leavesOut(_ level: some CacheLevel) -> Bool { spares(level) || skipsReading(level) }

    /// Whether the read leaves a level unfilled.
    func leavesUnfilled(_ level: some CacheLevel) -> Bool {
        !options.skipsFilling.isEmpty && level.origin.map { options.skipsFilling.contains($0) } ?? false
    }
}
