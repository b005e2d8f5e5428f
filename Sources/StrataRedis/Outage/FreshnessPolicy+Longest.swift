internal import Strata

extension FreshnessPolicy {
    /// No value and no absence that is stored by the policy lives longer.
    var longestLifetime: Duration { max(max(freshFor, .zero) + max(staleFor, .zero), absentFor) }
}
