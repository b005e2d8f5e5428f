/// How a fleet agrees on who fetches.
///
/// | setting | default | why |
/// |---|---|---|
/// | duration | 2 s | what a crashed holder costs those who wait, at most |
/// | renewalLimit | 30 s | a fetch that hangs must not hold its key for ever |
/// | waitLimit | 10 s | nobody waits without an end |
/// | failureBackOff | 100 ms … 5 s | a failing source is asked by one instance at a time, and ever more rarely |
/// | fetchLimit | 64 | fetches without a lease at once, in this process |
public struct LeaseOptions: Sendable, Hashable {
    /// How long a lease stands without being renewed.
    ///
    /// It is renewed after a third of that.
    public var duration: Duration
    /// How long a lease is renewed in all; then others may fetch as well.
    public var renewalLimit: Duration
    /// How long a caller waits for another process; then it fetches by itself.
    public var waitLimit: Duration
    /// For how long a failed fetch is not tried again by anybody; doubled with each failure in a row.
    ///
    /// All who wait for the value meanwhile get the failure.
    ///
    /// `nil` lets the next one try at once.
    public var failureBackOff: ClosedRange<Duration>?
    /// How many fetches without a lease may run at once in this process.
    public var fetchLimit: Int

    /// Options, each with its default.
    public init(
        duration: Duration = .seconds(2),
        renewalLimit: Duration = .seconds(30),
        waitLimit: Duration = .seconds(10),
        failureBackOff: ClosedRange<Duration>? = .milliseconds(100) ... .seconds(5),
        fetchLimit: Int = 64
    ) {
        self.duration = duration
        self.renewalLimit = renewalLimit
        self.waitLimit = waitLimit
        self.failureBackOff = failureBackOff
        self.fetchLimit = fetchLimit
    }
}
