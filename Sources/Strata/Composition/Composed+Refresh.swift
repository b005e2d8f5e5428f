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
            guard let below = try await lower.entry(for: key, request.filling) else {
                // There is no value any more, and no absence to keep.
                fillGate.void(lower.fingerprint(of: key))
                try await removeAbove(key)
                return true
            }
            let now = time.now
            guard below.isFresh(at: now) else { return false }
            _ = await filling(below, for: key, ticket, heard, request, askedAt: start)
            return now < below.refreshAt
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
