extension FreshnessPolicy {
    /// Values that must be current: a minute, no stale ones.
    public static var current: FreshnessPolicy { FreshnessPolicy(freshFor: .seconds(60)) }

    /// Values that may be old rather than missing: fresh for five minutes, served for ten more while they are fetched
    /// anew, kept for a day in case the source is down.
    ///
    /// A caller waits half a second at most when there is an old value.
    public static var resilient: FreshnessPolicy {
        FreshnessPolicy(
            staleWhileRevalidate: .seconds(600),
            staleIfError: .seconds(86_400),
            softTimeout: .milliseconds(500),
            hardTimeout: .seconds(10)
        )
    }

    /// Values that never change: fresh for thirty days.
    public static var immutable: FreshnessPolicy {
        FreshnessPolicy(freshFor: .seconds(30 * 86_400), earlyRefresh: 0)
    }
}
