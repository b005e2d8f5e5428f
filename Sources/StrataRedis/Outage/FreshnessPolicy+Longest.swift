internal import Strata

extension FreshnessPolicy {
    /// The longest life of an entry that is stored by the policy.
    ///
    /// At least a day, because sources may give lifetimes of their own.
    var longestLifetime: Duration {
        let stale = min(max(staleWhileRevalidate, staleIfError, .zero), EntryLifetime.longest)
        return max(min(max(freshFor, .zero), EntryLifetime.longest) + stale, absentFor, .seconds(86_400))
    }
}
