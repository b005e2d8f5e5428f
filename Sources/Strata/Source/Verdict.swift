/// What a read may do with an entry that it found.
package enum Verdict: Sendable, Equatable {
    /// Serve it.
    case serve
    /// Serve it, and fetch it anew in the background.
    case serveAndRefresh
    /// Ask below, and serve it if that fails or is late.
    case fallBack
    /// Ask below; do not serve it.
    case useless
}

extension ReadRequest {
    /// What this read may do with an entry.
    package func verdict<Value>(on entry: Entry<Value>, at now: MonotonicInstant) -> Verdict {
        let spare: Verdict = options.staleness != .never && entry.isUsable(at: now) ? .fallBack : .useless
        // Whatever happens in the levels below.
        if purpose == .read, isTooOld(entry, at: now) { return .useless }
        if entry.isSuspect { return spare }
        switch purpose {
        case .read:
            if options.source == .always {
                // The read meant to replace it; for want of another value it is served only where stale values may be.
                return entry.hasStaleWindow || options.staleness == .allowed ? spare : .useless
            }
            if entry.isFresh(at: now) {
                return now < entry.refreshAt || options.source == .never ? .serve : .serveAndRefresh
            }
            let isServed =
                options.staleness == .allowed
                || options.staleness == .byPolicy && now < entry.revalidateUntil
            guard spare == .fallBack, isServed else { return options.source == .never ? .useless : spare }
            return options.source == .never ? .serve : .serveAndRefresh
        case .refresh(let version):
            return entry.isFresh(at: now) && version != .none && entry.version != version ? .serve : spare
        }
    }
}

extension ReadRequest {
    /// Whether an entry is too old for the caller.
    package func isTooOld<Value>(_ entry: Entry<Value>, at now: MonotonicInstant) -> Bool {
        options.maximumAge.map { longest in entry.age(at: now).map { $0 > longest } ?? true } ?? false
    }
}

extension Entry {
    /// Whether the policy that made the entry lets it be served beyond its freshness.
    ///
    /// Memory rounds the end of freshness down, by less than a thousandth of the lifetime: that is no window.
    fileprivate var hasStaleWindow: Bool {
        let lifetime = storedAt == .distantPast ? 0 : max(0, storedAt.nanoseconds(to: freshUntil))
        return freshUntil.nanoseconds(to: staleUntil) > lifetime / 1_024 + 1_000_000
    }
}
