/// How long values are fresh, and what callers get when they no longer are.
///
/// | setting | default | why |
/// |---|---|---|
/// | freshFor | 5 min | long enough to matter, short enough to forgive a missed invalidation |
/// | staleWhileRevalidate | 0 | serving old values is a decision, not a default |
/// | staleIfError | 0 | the same |
/// | absentFor | 30 s | an absence is often about to end |
/// | jitter | 5 % | values that were stored together must not expire together |
/// | earlyRefresh | 1 | a value in demand is renewed shortly before its end, by one instance, and no caller waits |
/// | softTimeout | none | only a policy with stale values has something to serve instead |
/// | hardTimeout | 30 s | no caller waits without an end |
/// | completionLimit | 30 s | a fetch without callers must not run for ever |
///
/// An entry is fresh, then stale, then gone. A stale entry has two windows, both counted from the end of its freshness.
/// Within ``staleWhileRevalidate`` callers get it at once, and one fetch for the fleet runs in the background. Within
/// ``staleIfError`` callers wait for the fetch, and get the old value only if the fetch fails or takes too long.
public struct FreshnessPolicy: Sendable, Hashable {
    /// How long a value is served without question.
    public var freshFor: Duration
    /// How much longer it is served at once, as stale, while a fetch runs in the background.
    public var staleWhileRevalidate: Duration
    /// How much longer it is served, as stale, when the fetch fails or is late.
    public var staleIfError: Duration
    /// How long the absence of a value is remembered; zero remembers none.
    public var absentFor: Duration
    /// The largest share by which lifetimes are shortened, from 0 to 1.
    ///
    /// The share is the same for all writes of a key. Numbers outside count as the nearer end, NaN as 0.
    public var jitter: Double
    /// How early a value in demand is fetched anew before its freshness ends: β of the XFetch algorithm.
    ///
    /// The refresh begins at `end − δ · β · −ln(random)`, where δ is the duration of the last fetch, but never in the
    /// first half of the lifetime: a refresh that would fall there is spread over the second half. 1 is the optimum of
    /// Vattani, Chierichetti and Lowenstein, "Optimal Probabilistic Cache Stampede Prevention" (VLDB 2015); more begins
    /// earlier, 0 never.
    public var earlyRefresh: Double
    /// How long a caller waits for a fetch when there is a stale value to serve, counted from the start of the fetch.
    ///
    /// The fetch goes on in the background. With `nil` the caller waits for it.
    public var softTimeout: Duration?
    /// How long a caller waits in any case; then it gets a stale value, or ``CacheError/Code/timeout``.
    ///
    /// The fetch goes on in the background.
    public var hardTimeout: Duration?
    /// How long a fetch may go on in the background before it is cancelled.
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
