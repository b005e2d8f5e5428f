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
        guard verdict == .fallBack, request.isShareable, !entry.isSuspect, refreshes.isPaused(key, at: now) else {
            return verdict
        }
        request.recorder?.stale(because: .paused)
        return .serve
    }

    /// Fetches a key anew in the background, unless a fetch is running, with the source of the read that found the old entry.
    func refresh(_ key: Key, _ old: Entry<Value>, for read: ReadRequest) {
        let options = read.options.ofRefresh
        refreshes.launch(key, priority: options.priority) { [self, callSource = read.callSource] hint in
            let start = time.now
            let rights = await rightsAbove([key], ReadRequest(), isFailing: false)
            var asked = heardTicket(key)
            asked.rights = rights
            let heard = asked.asking(upper.gate)
            let ticket = fillGate.ticket(for: lower.fingerprint(of: key))
            var request = ReadRequest(options: options, purpose: .refresh(of: old.version))
                .having(old, asFallback: false)
            request.retryHint = hint
            request.callSource = callSource
            let below = try await lower.entry(for: key, request.filling)
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

    /// There is no value any more, and no absence to keep: removes above what is older than that.
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

    /// Fills the upper level with what a fetch brings that goes on without its read; the uppermost composition has all filled.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - left: The fetches that the read has left.
    ///   - ticket: Taken from the fill gate before the lower level was asked.
    ///   - heard: Taken before anything was asked.
    ///   - read: The read that has left.
    ///   - start: When the lower level was asked, by the levels' clock.
    func collect(
        _ key: Key,
        _ left: LeftFlights,
        _ ticket: Ticket,
        _ heard: Asked,
        _ read: ReadRequest,
        askedAt start: MonotonicInstant
    ) {
        var request = read.filling
        request.recorder = nil
        request.awaited = left
        refreshes.collect(key) { [self, request] in
            guard let below = try await lower.entry(for: key, request) else { return }
            _ = await filling(below, for: key, ticket, heard, request, askedAt: start)
        }
    }
}

extension ReadRequest {
    /// Whether the read leaves out a level.
    func leavesOut(_ level: some CacheLevel) -> Bool {
        spares(level)
            || !options.skipsReading.isEmpty && level.origin.map { options.skipsReading.contains($0) } ?? false
    }

    /// Whether the read leaves a level unfilled.
    func leavesUnfilled(_ level: some CacheLevel) -> Bool {
        !options.skipsFilling.isEmpty && level.origin.map { options.skipsFilling.contains($0) } ?? false
    }
}
