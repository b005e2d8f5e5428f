/// How the lifetime of an entry changes while its value stays.
public struct LifetimeChange: Sendable {
    private enum Kind: Sendable {
        case renewed(EntryLifetime)
        case expired
    }

    /// How far clocks of one process may be apart when they tell the same moment; the coarse clock of Linux ticks every
    /// 10 ms at most.
    private static let slack = Duration.milliseconds(20)

    private let kind: Kind

    /// The entry lives for so long from now on, as if it were set now.
    static func renewed(_ lifetime: EntryLifetime) -> LifetimeChange { LifetimeChange(kind: .renewed(lifetime)) }

    /// The entry is no longer fresh, and its stale window begins now.
    static var expired: LifetimeChange { LifetimeChange(kind: .expired) }

    /// The entry with its new lifetime; its age stays.
    ///
    /// - Parameters:
    ///   - entry: What the level has.
    ///   - now: The present.
    ///   - policy: What decides where a lifetime says nothing; `nil` leaves that to the level that keeps the entry.
    ///   - fingerprint: The key's fingerprint, which picks its share of the policy's jitter.
    ///   - error: How wrong the clock of the level may be.
    /// - Returns: The entry; `nil` when it is dropped, because it has no stale window.
    public func applied<Value>(
        to entry: Entry<Value>,
        at now: MonotonicInstant,
        by policy: FreshnessPolicy? = nil,
        fingerprint: UInt64 = 0,
        clockError error: Duration = .zero
    ) -> Entry<Value>? {
        var changed = entry
        switch kind {
        case .renewed(let lifetime):
            if let policy {
                let lifetimes = policy.lifetimes(
                    of: Entry<Bool>.Content.value(true),
                    fingerprint: fingerprint,
                    lifetime
                )
                changed.freshUntil = now.advanced(by: lifetimes.fresh)
                changed.staleUntil = now.advanced(by: lifetimes.kept)
                policy.complete(&changed)
            } else {
                // A lifetime that says nothing has no end here; the level that keeps the entry gives it the policy's.
                changed.freshUntil = .distantFuture
                changed.staleUntil = .distantFuture
                changed.refreshAt = .distantFuture
                changed.revalidateUntil = .distantPast
                changed.live(for: lifetime, by: nil, fingerprint: fingerprint, from: now)
                changed.storedAt = entry.storedAt
            }
        case .expired:
            // An entry that is stale already does not stay so for longer.
            guard entry.freshUntil > now else { break }
            guard entry.staleUntil != .distantFuture else { return nil }
            let windows = (
                stale: entry.freshUntil.duration(to: entry.staleUntil),
                revalidate: max(.zero, entry.freshUntil.duration(to: entry.revalidateUntil))
            )
            guard windows.stale > .zero else { return nil }
            changed.freshUntil = now.advanced(by: .zero - Self.slack - max(error, .zero))
            changed.refreshAt = changed.freshUntil
            changed.staleUntil = now.advanced(by: windows.stale)
            changed.revalidateUntil = min(changed.staleUntil, now.advanced(by: windows.revalidate))
        }
        return changed
    }
}
