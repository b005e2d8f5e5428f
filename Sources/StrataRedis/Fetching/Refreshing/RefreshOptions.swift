/// How an instance of a fleet refreshes keys on a schedule for all of them.
///
/// | setting | default | why |
/// |---|---|---|
/// | batch | 16 | keys at once: what a source stands beside its callers |
/// | jitter | 0.1 | schedules of several caches must not meet each time |
/// | leaseDuration | 10 s | how long nobody refreshes after an instance has died, at most, with the next |
/// | lookInterval | 5 s | how often the other instances look whether one refreshes |
public struct RefreshOptions: Sendable, Hashable {
    /// How many keys are asked for at once; at least 1.
    ///
    /// A source that takes several keys gets them in one call.
    public var batch: Int
    /// The largest share by which a pause between two rounds is shortened, from 0 to 1.
    public var jitter: Double
    /// How long the lease of the instance that refreshes stands without being renewed; at least a second.
    public var leaseDuration: Duration
    /// How often another instance asks for the lease, with a random half less; at least 10 ms.
    public var lookInterval: Duration
    /// How long the closure that returns the keys may take; after that the round has failed, and another instance may
    /// try.
    public var keyTimeout: Duration

    /// Options, each with its default.
    public init(
        batch: Int = 16,
        jitter: Double = 0.1,
        leaseDuration: Duration = .seconds(10),
        lookInterval: Duration = .seconds(5),
        keyTimeout: Duration = .seconds(30)
    ) {
        self.batch = batch
        self.jitter = jitter
        self.leaseDuration = leaseDuration
        self.lookInterval = lookInterval
        self.keyTimeout = keyTimeout
    }

    /// The pause between the beginnings of two rounds.
    func pause(_ interval: Duration) -> Duration {
        let share = jitter > 0 ? min(jitter, 1) * Double.random(in: 0...1) : 0
        return interval * (1 - share)
    }
}
