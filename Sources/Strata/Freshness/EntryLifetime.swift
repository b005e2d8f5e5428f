/// The lifetime of one entry, where its source or its writer knows better than the policy.
public struct EntryLifetime: Sendable, Hashable {
    /// How long the entry is served without question; `nil` leaves that to the policy.
    ///
    /// With zero or less the caller gets the entry and no level keeps it. More than a hundred years counts as a hundred
    /// years.
    public var freshFor: Duration?
    /// How much longer the entry is kept and may be served as stale; `nil` leaves that to the policy.
    ///
    /// Less than zero counts as zero.
    public var staleFor: Duration?

    /// A lifetime.
    public init(freshFor: Duration? = nil, staleFor: Duration? = nil) {
        self.freshFor = freshFor
        self.staleFor = staleFor
    }

    /// A hundred years: longer lifetimes are cut to it, so that sums of times stay in range.
    package static let longest = Duration.seconds(100 * 365 * 86_400)

    /// The policy's lifetime.
    public static var byPolicy: EntryLifetime { EntryLifetime() }

    /// A lifetime without end: a hundred years, whatever the policy says.
    ///
    /// The sweep of a ``ProviderCache`` over a disk does not drop such an entry. In Redis an entry with tags, as every
    /// record of a `ProviderCache` is, lives for thirty days from its last write; and a full Redis evicts entries as
    /// its `maxmemory-policy` says.
    public static var unlimited: EntryLifetime { EntryLifetime(freshFor: longest) }

    /// Whether no level may keep the entry.
    package var isNone: Bool { freshFor.map { $0 <= .zero } ?? false }
}

extension Entry {
    /// Gives an entry a lifetime from now on.
    ///
    /// - Parameters:
    ///   - lifetime: The lifetime.
    ///   - policy: What decides where the lifetime says nothing. Without one an entry that says nothing has no end, and
    ///     is gone at the end of its freshness.
    ///   - fingerprint: The key's fingerprint, which picks its share of the jitter.
    ///   - now: When the lifetime begins.
    package mutating func live(
        for lifetime: EntryLifetime,
        by policy: FreshnessPolicy?,
        fingerprint: @autoclosure () -> UInt64,
        from now: MonotonicInstant
    ) {
        if let policy {
            self = policy.stamping(self, fingerprint: fingerprint(), lifetime, at: now)
            return
        }
        guard let freshFor = lifetime.freshFor else { return }
        freshUntil = now.advanced(by: min(freshFor, EntryLifetime.longest))
        let staleFor = min(max(lifetime.staleFor ?? .zero, .zero), EntryLifetime.longest)
        staleUntil = freshUntil.advanced(by: staleFor)
        refreshAt = freshUntil
        revalidateUntil = freshUntil
        storedAt = now
    }
}
