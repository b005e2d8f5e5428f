/// How often, and after which pauses, something that has failed is tried again.
///
/// | setting | default | why |
/// |---|---|---|
/// | times | 2 | a failure that outlasts two more attempts is not a hiccup |
/// | delay | 50 ms | a broken connection is back by then |
/// | factor | 2 | an overloaded source needs room |
/// | longestDelay | 2 s | callers wait for all of it |
/// | jitter | 0.5 | what failed together must not come back together |
public struct RetryPolicy: Sendable, Hashable {
    /// How often it is tried again at most; 0 or less means no retry.
    public var times: Int
    /// The pause before the first retry.
    public var delay: Duration
    /// The factor by which each pause is longer than the one before; at least 1.
    public var factor: Double
    /// The longest pause.
    public var longestDelay: Duration
    /// The largest share by which a pause is shortened at random, from 0 to 1.
    public var jitter: Double

    /// A policy, each part with its default.
    public init(
        times: Int = 2,
        delay: Duration = .milliseconds(50),
        factor: Double = 2,
        longestDelay: Duration = .seconds(2),
        jitter: Double = 0.5
    ) {
        self.times = times
        self.delay = delay
        self.factor = factor
        self.longestDelay = longestDelay
        self.jitter = jitter
    }

    /// The pause before a retry, counted from 0; `share` from 0 to 1 stands for chance.
    func pause(before retry: Int, share: Double) -> Duration {
        var pause = max(.zero, min(delay, longestDelay))
        let growth = factor > 1 ? min(factor, 1e6) : 1
        for _ in 0..<max(0, retry) where pause < longestDelay && growth > 1 && pause > .zero {
            pause = min(pause * growth, longestDelay)
        }
        let portion = jitter > 0 ? min(jitter, 1) : 0
        return pause * (1 - portion * share)
    }
}
