import ArgumentParser

/// What Redis a soak runs on.
enum SoakTopology: String, CaseIterable, Codable, ExpressibleByArgument {
    /// One server, every second instance behind a proxy.
    case single
    /// A primary, a replica and three Sentinels; failovers are among the faults.
    case sentinel
    /// Three primaries with a replica each, each node behind a proxy; failovers and slots that move are among the
    /// faults.
    case cluster

    /// How many primaries there are.
    var shards: Int { self == .cluster ? 3 : 1 }
}
