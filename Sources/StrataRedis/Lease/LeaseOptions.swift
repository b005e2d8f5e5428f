public import Strata

/// How a fleet decides which instance fetches.
///
/// | setting | default | why |
/// |---|---|---|
/// | duration | 2 s | what a crashed holder costs those who wait, at most |
/// | renewalLimit | 30 s | a fetch that hangs must not hold its key for ever |
/// | waitLimit | 40 s | longer than a lease is renewed, so that a fetch that hangs costs no caller its value |
/// | failureBackOff | 100 ms … 5 s | a failing source is asked by one instance at a time, and ever more rarely |
/// | fetchLimit | 64 | fetches without a lease, and fetches of several keys, at once in this process |
public struct LeaseOptions: Sendable, Hashable {
    /// How long a lease stands without being renewed.
    ///
    /// It is renewed after a third of that. A value above a minute must be the same in all instances: an instance
    /// rejects a lease that lasts longer than a minute and longer than its own.
    public var duration: Duration
    /// How long a lease is renewed in all; after that others may fetch, too.
    public var renewalLimit: Duration
    /// How long a caller waits while other processes fetch; then it gets a stale value, if it may, or
    /// ``/Strata/CacheError/Code/timeout``.
    ///
    /// It does not fetch beside them, unless five of them in a row delivered nothing. A caller never waits longer than
    /// the policy allows (``/Strata/FreshnessPolicy/hardTimeout``).
    public var waitLimit: Duration
    /// How long no instance tries a failed fetch again; doubled with each failure in a row.
    ///
    /// Callers that wait for the value meanwhile get the failure. Never longer than an hour.
    ///
    /// With `nil`, the next caller tries at once.
    public var failureBackOff: ClosedRange<Duration>?
    /// How many fetches without a lease, and of several keys, may run at once in this process.
    ///
    /// Fetches of one key under a lease do not count: the fleet makes one for each key. To protect a source from many
    /// keys at once, cap the source itself with `capped(by:)`.
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
