/// How a Redis level's readers learn of changes that others make.
public enum Coherence: Sendable, Hashable {
    /// The server sends notices over a link that every instance keeps: a change is known one network hop later.
    ///
    /// While the link is down, memory above keeps what it reads for a bounded time only (twice
    /// ``RedisConfiguration/linkPingInterval`` plus ``RedisConfiguration/linkPingTimeout``, 3 s by default). The same
    /// holds if the server refuses the link: ``AccessRules`` lists what the user needs, and
    /// ``OutageStatistics/untrustedReason`` says what is missing.
    case tracking
    /// Without a link; memory above keeps what it reads for this long at most.
    case lifetime(Duration)
    /// Without a link; memory above keeps what it reads for as long as it is fresh.
    case none
}

extension Coherence {
    /// How long memory above may keep what it read without a link; `nil` for no limit.
    func untrustedLifetime(_ configuration: RedisConfiguration) -> Duration? {
        switch self {
        case .tracking: configuration.linkPingInterval * 2 + configuration.linkPingTimeout
        case .lifetime(let lifetime): lifetime
        case .none: nil
        }
    }
}
