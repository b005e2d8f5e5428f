public import Strata

/// How a fleet agrees on who fetches.
///
/// | setting | default | why |
/// |---|---|---|
/// | duration | 2 s | what a crashed holder costs those who wait, at most |
/// | renewalLimit | 30 s | a fetch that hangs must not hold its key for ever |
/// | waitLimit | 40 s | longer than a lease is renewed, so that a fetch that hangs costs nobody its value |
/// | failureBackOff | 100 ms … 5 s | a failing source is asked by one instance at a time, and ever more rarely |
/// | fetchLimit | 64 | fetches without a lease, and fetches of several keys, at once in this process |
public struct LeaseOptions: Sendable, Hashable {
    /// How long a lease stands without being renewed.
    ///
    /// It is renewed after a third of that. More than a minute has to be the same in all instances: a lease that stands for
    /// longer than that, and than an instance's own would, is not believed.
    public var duration: Duration
    /// How long a lease is renewed in all; then others may fetch as well.
    public var renewalLimit: Duration
    /// How long a caller waits while other processes fetch; then it gets a stale value, if it may, or
    /// ``/Strata/CacheError/Code/timeout``.
    ///
    /// It does not fetch beside them. Nobody waits for longer than the policy allows either
    /// (``/Strata/FreshnessPolicy/hardTimeout``).
    public var waitLimit: Duration
    /// For how long a failed fetch is not tried again by anybody; doubled with each failure in a row.
    ///
    /// All who wait for the value meanwhile get the failure. Never longer than an hour.
    ///
    /// `nil` lets the next one try at once.
    public var failureBackOff: ClosedRange<Duration>?
    /// How many fetches without a lease, and of several keys, may run at once in this process.
    ///
    /// Fetches of one key under a lease are not counted: a fleet makes one for each key. A source that has to be protected from
    /// many keys at once is capped itself, by `capped(by:)`.
    public var fetchLimit: Int
    /// A limit that this level shares with others, in place of ``fetchLimit``; `nil` by default.
    public var limiter: FetchLimiter?

    /// Options, each with its default.
    public init(
        duration: Duration = .seconds(2),
        renewalLimit: Duration = .seconds(30),
        waitLimit: Duration = .seconds(40),
        failureBackOff: ClosedRange<Duration>? = .milliseconds(100) ... .seconds(5),
        fetchLimit: Int = 64,
        limiter: FetchLimiter? = nil
    ) {
        self.duration = duration
        self.renewalLimit = renewalLimit
        self.waitLimit = waitLimit
        self.failureBackOff = failureBackOff
        self.fetchLimit = fetchLimit
        self.limiter = limiter
    }
}
