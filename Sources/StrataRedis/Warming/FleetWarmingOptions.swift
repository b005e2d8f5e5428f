public import Strata

/// How a new instance fills its memory with what is hot in the memory of others.
public struct FleetWarmingOptions: Sendable, Hashable {
    /// How many keys to read; within 1 to 10 000, 1000 by default.
    public var keys: Int
    /// How many instances to ask, picked at random from the list, those that have been listed for a minute first;
    /// within 1 to 8, 3 by default.
    public var instances: Int
    /// How long to wait for their answers; 500 ms by default.
    public var answerLimit: Duration
    /// How the keys are then read.
    ///
    /// By default only Redis is asked, and no source: any user who may write to the keyspace may name keys, including
    /// keys that do not exist.
    public var warming: WarmingOptions

    /// Options, each with its default.
    public init(
        keys: Int = 1_000,
        instances: Int = 3,
        answerLimit: Duration = .milliseconds(500),
        warming: WarmingOptions = WarmingOptions(reads: .cached)
    ) {
        self.keys = keys
        self.instances = instances
        self.answerLimit = answerLimit
        self.warming = warming
    }

    var usableKeys: Int { min(max(keys, 1), HottestKeys.mostKeys) }
    var usableInstances: Int { min(max(instances, 1), FleetQuestion.mostNamed) }
}
