internal import Strata

extension FreshnessPolicy {
    /// No value and no absence that is stored by the policy lives longer.
    ///
    /// At least a day, because sources may give lifetimes of their own.
    var longestLifetime: Duration {
        let value = min(max(freshFor, .zero), Self.longest) + min(max(staleWhileRevalidate, staleIfError, .zero), Self.longest)
        return max(value, absentFor, .seconds(86_400))
    }
}
