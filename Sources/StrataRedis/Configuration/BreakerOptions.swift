/// When a cache stops asking a Redis that does not answer, and when it tries again.
///
/// | setting | default | why |
/// |---|---|---|
/// | window | 10 s | long enough that one lost connection is a small share of it, short enough to forget an outage |
/// | minimumCalls | 10 | a single failure is no outage; so many in a row are |
/// | failureShare | 0.5 | a server that fails half of what it is asked costs more than it saves |
/// | slowShare | 0.8 | most calls have to be slow before a hit is given up for the source |
/// | slowAfter | 250 ms | half of what a call may spend on Redis |
/// | pause | 100 ms … 2 s | how long it goes unnoticed that an outage has ended; a probe costs no caller anything |
public struct BreakerOptions: Sendable, Hashable {
    /// How far back calls count.
    public var window: Duration
    /// How many calls must have ended within the window before their share of failures counts; and how many failures in
    /// a row open the breaker, no matter what came before.
    public var minimumCalls: Int
    /// The share of failed calls from which the breaker opens, from 0 to 1; above 1 means never.
    public var failureShare: Double
    /// The share of slow calls from which the breaker opens, from 0 to 1; above 1 means never.
    public var slowShare: Double
    /// How long a call that succeeds may take until it counts as slow.
    public var slowAfter: Duration
    /// Bounds of the pause before a probe; the wait is a random share of it, between a half and the whole.
    public var pause: ClosedRange<Duration>

    /// Options, each with its default.
    public init(
        window: Duration = .seconds(10),
        minimumCalls: Int = 10,
        failureShare: Double = 0.5,
        slowShare: Double = 0.8,
        slowAfter: Duration = .milliseconds(250),
        pause: ClosedRange<Duration> = .milliseconds(100) ... .seconds(2)
    ) {
        self.window = window
        self.minimumCalls = minimumCalls
        self.failureShare = failureShare
        self.slowShare = slowShare
        self.slowAfter = slowAfter
        self.pause = pause
    }
}
