import ArgumentParser

/// What the driver of `load restart` orders.
struct RestartOrder: Codable {
    /// For how long to count, in milliseconds.
    var milliseconds: Int
}

/// What a process of `load restart` answers.
struct RestartAnswer: Codable {
    enum Kind: String, Codable {
        /// It serves from now on.
        case ready
        /// What was counted in a span of time.
        case counts
        /// It has ended.
        case ended
    }

    var kind: Kind
    var reads = 0
    /// Reads that memory has answered alone.
    var hits = 0
    /// How often this process has asked the source.
    var fetches = 0
    /// Reads that got no value, or another one.
    var failures = 0
    /// How long it took to fill memory, or to write it down, in milliseconds.
    var milliseconds = 0.0
    /// Entries that were filled in, or written down.
    var entries = 0
    /// Bytes of the file.
    var bytes = 0

    mutating func add(_ other: RestartAnswer) {
        reads += other.reads
        hits += other.hits
        fetches += other.fetches
        failures += other.failures
    }

    var ratio: Double { Double(hits) / Double(max(reads, 1)) }
}

/// How a process begins.
enum RestartWay: String, Codable, CaseIterable, ExpressibleByArgument {
    /// It reads back what its predecessor has hibernated.
    case hibernate
    /// It asks the other instances what is hot.
    case fleet
    /// It begins cold.
    case cold
}
