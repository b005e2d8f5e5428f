#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension FreshnessPolicy {
    /// How long content of this kind is fresh, and how long it is kept, for the key with this fingerprint.
    ///
    /// Both are at least 1 ms.
    ///
    /// - Parameters:
    ///   - content: A value or an absence.
    ///   - fingerprint: The key's fingerprint, which picks the key's share of the jitter.
    ///   - lifetime: The lifetime that the source gave this entry.
    /// - Returns: Both durations.
    package func lifetimes<Value>(
        of content: Entry<Value>.Content,
        fingerprint: UInt64,
        _ lifetime: EntryLifetime = .byPolicy
    ) -> (fresh: Duration, kept: Duration) {
        let (base, window): (Duration, Duration) =
            switch content {
            case .value: (freshFor, max(staleWhileRevalidate, staleIfError))
            case .absent: (absentFor, .zero)
            }
        let share = Double(fingerprint >> 11) / Double(1 << 53)
        // No number compares above zero, so NaN is no jitter.
        let wanted = min(max(lifetime.freshFor ?? base, .milliseconds(1)), EntryLifetime.longest)
        // A lifetime without an end keeps none.
        let portion = jitter > 0 && wanted < EntryLifetime.longest ? min(jitter, 1) : 0
        let fresh = max(wanted * (1 - portion * share), .milliseconds(1))
        return (fresh, fresh + min(max(lifetime.staleFor ?? window, .zero), EntryLifetime.longest))
    }

    /// Gives an entry without a lifetime the policy's.
    package func stamping<Value>(
        _ entry: Entry<Value>,
        fingerprint: UInt64,
        _ lifetime: EntryLifetime = .byPolicy,
        at now: MonotonicInstant
    ) -> Entry<Value> {
        var entry = entry
        if entry.freshUntil == .distantFuture || lifetime != .byPolicy {
            let lifetimes = lifetimes(of: entry.content, fingerprint: fingerprint, lifetime)
            entry.freshUntil = now.advanced(by: lifetimes.fresh)
            entry.staleUntil = now.advanced(by: lifetimes.kept)
        }
        entry.storedAt = now
        complete(&entry)
        return entry
    }

    /// Sets when an entry is fetched anew, and until when it is served meanwhile.
    package func complete<Value>(_ entry: inout Entry<Value>) {
        entry.revalidateUntil = min(
            entry.staleUntil,
            entry.freshUntil.advanced(by: min(max(staleWhileRevalidate, .zero), EntryLifetime.longest))
        )
        entry.refreshAt = entry.freshUntil
        guard earlyRefresh > 0, entry.fetchDuration > .zero, entry.freshUntil != .distantFuture,
            case .value = entry.content
        else { return }
        var random = JitterGenerator()
        // 1 − u lies in (0, 1], so the logarithm is finite.
        let ahead = entry.fetchDuration * (min(earlyRefresh, 1e6) * -log(1 - Double.random(in: 0..<1, using: &random)))
        let half = max(entry.storedAt.duration(to: entry.freshUntil) / 2, .zero)
        // A refresh that would fall into the first half is spread over the second; otherwise all entries of a slow
        // source would be refreshed at its beginning.
        entry.refreshAt = entry.freshUntil.advanced(
            by: .zero - (ahead <= half ? ahead : half * Double.random(in: 0...1, using: &random))
        )
    }
}
