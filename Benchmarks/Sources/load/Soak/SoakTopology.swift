import ArgumentParser

/// What Redis a soak runs on.
enum SoakTopology: String, CaseIterable, Codable, ExpressibleByArgument {
    /// One server, every second instance behind a proxy.
    case single
    /// A primary, a replica and three Sentinels; failovers are among the faults.
    case sentinel
}
