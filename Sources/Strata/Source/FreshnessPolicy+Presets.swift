extension FreshnessPolicy {
    /// Values that must be current: a minute, no stale ones.
    public static var current: FreshnessPolicy { FreshnessPolicy(freshFor: .seconds(60)) }

    /// Values that may be old rather than missing: five minutes fresh, ten more while they are fetched anew, a day when
    /// the source is down; half a second is the most that anybody waits who could have an old one.
    public static var resilient: FreshnessPolicy {
        FreshnessPolicy(
            staleWhileRevalidate: .seconds(600),
            staleIfError: .seconds(86_400),
            softTimeout: .milliseconds(500),
            hardTimeout: .seconds(10)
        )
    }

    /// Values that never change once they are there: thirty days.
    public static var immutable: FreshnessPolicy {
        FreshnessPolicy(freshFor: .seconds(30 * 86_400), earlyRefresh: 0)
    }
}
