/// How long what a cache keeps is good for.
///
/// | setting | default | why |
/// |---|---|---|
/// | freshFor | 5 min | long enough to matter, short enough to forgive a missed invalidation |
/// | staleFor | 0 | serving old values is a decision, not a default |
/// | absentFor | 30 s | an absence is often about to end |
/// | jitter | 5 % | what was stored together must not expire together |
public struct FreshnessPolicy: Sendable, Hashable {
    /// How long a value is served without question.
    public var freshFor: Duration
    /// How much longer it may be served, flagged as stale, when no newer one is to be had.
    public var staleFor: Duration
    /// How long it is remembered that a key has no value; zero means not at all.
    public var absentFor: Duration
    /// By which share lifetimes are shortened at most, from 0 to 1.
    ///
    /// The same for all writes of a key. What lies outside is taken for the nearer end, NaN for 0.
    public var jitter: Double

    /// A policy, each part with its default.
    public init(
        freshFor: Duration = .seconds(300),
        staleFor: Duration = .zero,
        absentFor: Duration = .seconds(30),
        jitter: Double = 0.05
    ) {
        self.freshFor = freshFor
        self.staleFor = staleFor
        self.absentFor = absentFor
        self.jitter = jitter
    }

    /// How long content of this kind is fresh and kept, for the key with this fingerprint.
    ///
    /// Both are at least 1 ms.
    ///
    /// Beyond a hundred years a lifetime makes no difference, and it is cut there so that sums of times stay in range.
    package func lifetimes<Value>(
        of content: Entry<Value>.Content,
        fingerprint: UInt64
    ) -> (fresh: Duration, kept: Duration) {
        let longest = Duration.seconds(100 * 365 * 86_400)
        let base =
            switch content {
            case .value: freshFor
            case .absent: absentFor
            }
        let share = Double(fingerprint >> 11) / Double(1 << 53)
        // No number compares above zero, so NaN is no jitter.
        let portion = jitter > 0 ? min(jitter, 1) : 0
        let shortened = min(max(base, .milliseconds(1)), longest) * (1 - portion * share)
        let fresh = max(shortened, .milliseconds(1))
        let stale: Duration =
            switch content {
            case .value: min(max(staleFor, .zero), longest)
            case .absent: .zero
            }
        return (fresh, fresh + stale)
    }
}
