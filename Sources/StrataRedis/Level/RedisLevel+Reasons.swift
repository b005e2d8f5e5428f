internal import Strata

extension RedisLevel {
    /// Counts what reads have found, each once.
    func count(_ findings: some Sequence<Finding>) {
        counters.change { counted in
            for finding in findings {
                switch finding {
                case .entry: counted.hits += 1
                case .nothing, .void(_, because: .expired), .void(_, because: .absent): counted.misses += 1
                case .void: counted.voided += 1
                case .unusable: counted.unusable += 1
                }
            }
        }
    }

    /// What a read has found is not what it wants, for instance because it is stale: it counts as a miss.
    func withdrawHit(of entry: Entry<Value>) {
        // A replica's entry, whose ticket is void, counts as something else.
        guard entry.ticket != .void else { return }
        counters.change {
            $0.hits -= 1
            $0.misses += 1
        }
    }

    /// Takes down what a look has found.
    func note(_ finding: Finding, _ recorder: ReadTraceRecorder?, since start: MonotonicInstant) {
        guard let recorder else { return }
        let event: ReadTrace.Event = finding.entry == nil ? .miss : .hit
        recorder.step(event, at: .redis, from: start, to: .now, reason: finding.reason)
    }

    /// Tells those that observe the level of a hit, unless a level above decides whether it is served.
    func tellHit(_ key: Key, _ request: ReadRequest) {
        if !request.isJudgedAbove { events.tell(.hit) { CacheEvent($0, at: .redis, key: key) } }
    }

    /// Tells those that observe the level what a read has found.
    ///
    /// The code that decides whether to serve a hit records it.
    func tell(_ finding: Finding, _ key: Key, _ request: ReadRequest) {
        guard let reason = finding.reason else { return tellHit(key, request) }
        events.tell(.miss) { CacheEvent($0, at: .redis, key: key, reason: reason) }
    }

    /// Tells those that observe the level that a read could not ask Redis.
    func tellFailure(_ error: any Error, _ key: Key) {
        guard !(error is CancellationError) else { return }
        events.tell(.miss) { kind in
            let (reason, name) = (ReadTrace.Reason(error), CacheError.name(of: error))
            return CacheEvent(kind, at: .redis, key: key, reason: reason, error: name)
        }
    }

    /// Tells those that observe the level that the other instances are told of a change.
    func tellInvalidation(_ what: String, _ key: Key? = nil) {
        counters.add(\.sentInvalidations)
        events.tell(.invalidationSent) { CacheEvent($0, at: .redis, key: key, detail: what) }
    }
}
