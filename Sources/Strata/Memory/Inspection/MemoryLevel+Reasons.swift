extension MemoryLevel {
    /// Why a read finds no entry of a key that it may use.
    ///
    /// Writers wait for it. It is asked for accounts of reads and for observers only.
    ///
    /// Complexity: O(1).
    @usableFromInline
    @inline(never)
    func reason(forMissing key: Key) -> ReadTrace.Reason {
        let hash = hash(of: key)
        let number = partition(of: hash)
        let now = now
        return writer.withLock { writer in
            let slot = unsafe partitions[number].pointee.find(key, tag: tag(of: hash))
            guard slot != 0 else {
                return writer.state.departures.cause(of: tag(of: hash)).map { ReadTrace.Reason($0) } ?? .absent
            }
            if writer.end(of: slot) <= now { return .expired }
            if let seal = seal(of: slot, writer), !seal.isLive { return ReadTrace.Reason(ending: seal) }
            if idleNanoseconds > 0, writer.lastUse(of: slot).nanoseconds(to: now) >= idleNanoseconds { return .idle }
            // It has come meanwhile.
            return .absent
        }
    }

    /// The seal of the entry in a slot.
    private func seal(of slot: UInt32, _ writer: borrowing Writer) -> TagSeal? {
        guard unsafe writer.slot(slot).pointee.hasMetadata else { return nil }
        return unsafe writer.metadata(slot).pointee.label?.seal
    }

    /// Takes down what a read has found, and tells those that observe the level.
    @usableFromInline
    @inline(never)
    func note(_ entry: Entry<Value>?, of key: Key, _ request: ReadRequest, since start: MonotonicInstant) {
        guard entry == nil else {
            request.recorder?.step(.hit, at: .memory, from: start, to: .now)
            if !request.isJudgedAbove { tell(.hit, of: key) }
            return
        }
        let end = MonotonicInstant.now
        let reason = reason(forMissing: key)
        request.recorder?.step(.miss, at: .memory, from: start, to: end, reason: reason)
        tell(.miss, of: key, because: reason)
    }

    /// The entry of one key of several, with what comes of it taken down where each key has a record of its own.
    @usableFromInline
    @inline(never)
    func entry(for key: Key, among request: ReadRequest, at now: MonotonicInstant) -> Entry<Value>? {
        let start = MonotonicInstant.now
        let entry = operations.read(self, key, now)
        var single = request
        single.recorder = request.recorder?.part(of: key)
        note(entry, of: key, single, since: start)
        return entry
    }

    /// Tells those that observe the level.
    @usableFromInline
    @inline(never)
    func tell(_ kind: CacheEvent.Kind, of key: Key, because reason: ReadTrace.Reason? = nil) {
        events.tell(kind) { CacheEvent($0, at: .memory, key: key, reason: reason) }
    }

    /// Reports entries that have left.
    @inlinable
    @inline(__always)
    func tell(_ departures: borrowing Departures) {
        departures.tell(onRemoval)
        if events.wants(.evicted) { tellEvictions(departures.removals) }
    }

    @usableFromInline
    @inline(never)
    func tellEvictions(_ removals: [MemoryRemoval<Key, Value>]) {
        for removal in removals {
            switch removal.cause {
            case .replaced, .removed, .cleared: continue
            default: tell(.evicted, of: removal.key, because: ReadTrace.Reason(removal.cause))
            }
        }
    }
}

extension ReadTrace.Reason {
    /// Why an entry has left memory.
    init(_ cause: RemovalCause) {
        switch cause {
        case .expired: self = .expired
        case .idle: self = .idle
        case .removed: self = .removed
        case .cleared: self = .cleared
        case .replaced: self = .replaced
        default: self = .evicted
        }
    }
}
