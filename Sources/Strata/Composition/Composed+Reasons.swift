extension Composed {
    /// Notes whether the upper level's entry is served, and why not, and tells the cache's observers.
    ///
    /// - Parameters:
    ///   - verdict: What the read does with it.
    ///   - found: The entry as the level has returned it.
    ///   - above: The entry as it was judged; `nil` for one that is void.
    ///   - key: Its key.
    ///   - heard: Taken before the level was asked.
    ///   - request: The read.
    ///   - now: When it was judged.
    func note(
        _ verdict: Verdict,
        on found: Entry<Value>,
        _ above: Entry<Value>?,
        of key: Key,
        _ heard: Asked,
        _ request: ReadRequest,
        at now: MonotonicInstant
    ) {
        if verdict == .fallBack || verdict == .useless, found.isFresh(at: now) { withdrawHit(isMiss: true) }
        guard request.recorder != nil || events.wantsReads else { return }
        guard verdict == .fallBack || verdict == .useless else {
            if !request.isJudgedAbove {
                events.tell(.hit) { CacheEvent($0, at: upper.origin ?? found.origin, key: key) }
            }
            return
        }
        let reason =
            above.map { heard.isUnconfirmed ? .unconfirmed : request.reason(notToServe: $0, at: now) }
            ?? reason(ofVoid: found, key, heard)
        request.recorder?.reject(because: reason, at: upper.place)
        events.tell(.miss) { CacheEvent($0, at: upper.origin ?? found.origin, key: key, reason: reason) }
    }

    /// Tells of a hit in the upper level's memory.
    @usableFromInline
    @inline(never)
    func tellHit(_ key: Key) { events.tell(.hit) { CacheEvent($0, at: .memory, key: key) } }

    /// What has voided an entry of the upper level.
    private func reason(ofVoid entry: Entry<Value>, _ key: Key, _ heard: Asked) -> ReadTrace.Reason {
        let isLive = fillGate.isLive(ledger == nil ? entry.ticket : heard.filled)
        guard !isLive else { return ReadTrace.Reason(ending: entry.seal ?? heard.filledSeal) }
        return ReadTrace.Reason(fillGate.voidCause(of: lower.fingerprint(of: key)))
    }

    /// Why the upper level must not keep an entry from below.
    ///
    /// - Parameters:
    ///   - entry: The entry, with its ticket and its seal.
    ///   - key: Its key.
    ///   - isSealed: Whether it could be sealed.
    /// - Returns: The reason.
    func refusal(of entry: Entry<Value>, _ key: Key, isSealed: Bool) -> ReadTrace.Reason {
        if entry.isSuspect { return .untrustedLink }
        guard isSealed, entry.seal?.isLive != false else { return ReadTrace.Reason(ending: entry.seal) }
        return entry.ticket == .void ? .notKept : .changedMeanwhile
    }

    /// Notes whether the upper level was filled, and tells the cache's observers where it was not.
    func filled(_ refusal: ReadTrace.Reason?, _ key: Key, _ request: ReadRequest, since start: MonotonicInstant) {
        request.filled(upper, refusal: refusal, since: start)
        guard let refusal else { return }
        events.tell(.storeRefused) { CacheEvent($0, at: upper.place, key: key, reason: refusal) }
    }

    /// Notes that a fill of the upper level has failed, and tells the cache's observers.
    func notFilled(_ error: any Error, _ key: Key, _ request: ReadRequest, since start: MonotonicInstant) {
        request.failed(error, at: upper, since: start)
        events.tell(.storeRefused) { kind in
            let (reason, name) = (ReadTrace.Reason(error), CacheError.name(of: error))
            return CacheEvent(kind, at: upper.place, key: key, reason: reason, error: name)
        }
    }
}

extension ReadRequest {
    /// Why a read does not serve an entry that is not void.
    package func reason<Value>(notToServe entry: Entry<Value>, at now: MonotonicInstant) -> ReadTrace.Reason {
        if entry.isSuspect { return .untrustedLink }
        return entry.isFresh(at: now) ? .notWanted : .stale
    }
}
