/// How long what a cache keeps is good for, and what callers get when it is no longer.
///
/// | setting | default | why |
/// |---|---|---|
/// | freshFor | 5 min | long enough to matter, short enough to forgive a missed invalidation |
/// | staleWhileRevalidate | 0 | serving old values is a decision, not a default |
/// | staleIfError | 0 | the same |
/// | absentFor | 30 s | an absence is often about to end |
/// | jitter | 5 % | what was stored together must not expire together |
/// | earlyRefresh | 1 | a value in demand is renewed shortly before its end, by one instance, and nobody waits |
/// | softTimeout | none | only a policy with stale values has something to serve instead |
/// | hardTimeout | 30 s | nobody waits without an end |
/// | completionLimit | 30 s | a fetch that nobody waits for any more must not run for ever |
///
/// An entry is fresh, then stale, then gone. While it is stale there are two windows, both counted from the end of its
/// freshness: within ``staleWhileRevalidate`` callers get it at once and one fetch for the fleet runs in the
/// background; within ``staleIfError`` callers wait for the fetch, and get the old value only if that fails or takes
/// too long.
public struct FreshnessPolicy: Sendable, Hashable {
    /// How long a value is served without question.
    public var freshFor: Duration
    /// How much longer it is served at once, flagged as stale, while it is fetched anew in the background.
    public var staleWhileRevalidate: Duration
    /// How much longer it is served, flagged as stale, when no newer one is to be had in time.
    public var staleIfError: Duration
    /// How long it is remembered that a key has no value; zero means not at all.
    public var absentFor: Duration
    /// By which share lifetimes are shortened at most, from 0 to 1.
    ///
    /// The same for all writes of a key. What lies outside is taken for the nearer end, NaN for 0.
    public var jitter: Double
    /// How eagerly a value that is asked for is fetched anew before its freshness ends: β of the XFetch algorithm.
    ///
    /// The refresh begins at `end − δ · β · −ln(random)`, with δ how long the last fetch took, but never in the first
    /// half of the lifetime: what would is spread over the second. 1 is the optimum of Vattani, Chierichetti and
    /// Lowenstein, "Optimal Probabilistic Cache Stampede Prevention" (VLDB 2015); more begins earlier, 0 never.
    public var earlyRefresh: Double
    /// After how long a fetch is no longer waited for when there is a stale value to serve; counted from the fetch's
    /// start.
    ///
    /// The fetch goes on in the background. `nil` waits for it.
    public var softTimeout: Duration?
    /// After how long a caller gives up in any case: with a stale value, or with ``CacheError/Code/timeout``.
    ///
    /// The fetch goes on in the background.
    public var hardTimeout: Duration?
    /// How long a fetch may go on in the background; then it is cancelled.
    public var completionLimit: Duration

    /// A policy, each part with its default.
    public init(
        freshFor: Duration = .seconds(300),
        staleWhileRevalidate: Duration = .zero,
        staleIfError: Duration = .zero,
        absentFor: Duration = .seconds(30),
        jitter: Double = 0.05,
        earlyRefresh: Double = 1,
        softTimeout: Duration? = nil,
        hardTimeout: Duration? = .seconds(30),
        completionLimit: Duration = .seconds(30)
    ) {
        self.freshFor = freshFor
        self.staleWhileRevalidate = staleWhileRevalidate
        self.staleIfError = staleIfError
        self.absentFor = absentFor
        self.jitter = jitter
        self.earlyRefresh = earlyRefresh
        self.softTimeout = softTimeout
        self.hardTimeout = hardTimeout
        self.completionLimit = completionLimit
    }
}
