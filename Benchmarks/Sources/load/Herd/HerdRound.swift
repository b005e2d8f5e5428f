/// What the driver of `load herd` orders.
struct HerdRound: Codable {
    enum Kind: String, Codable {
        /// Every task asks for the same cold key.
        case cache
        /// The same without a cache: ``FetchByHand``.
        case byHand
        /// Every task sleeps for as long as the fetch takes.
        case sleep
    }

    let kind: Kind
    let number: Int
    /// When all tasks of all processes begin, in nanoseconds of the monotonic clock.
    let start: Int64
}

/// What a process of `load herd` answers; times are in nanoseconds after the start.
struct HerdResult: Codable {
    /// When the process' last task began.
    var allBegan: Int64 = 0
    /// When the process asked the source, if it did.
    var fetchBegan: Int64?
    /// When the source answered.
    var fetchEnded: Int64?
    /// What the processors have spent on the process in this round.
    var processorTime: Int64 = 0
    /// When the process' first task was done.
    var first = Int64.max
    /// When the process' last task was done.
    var last: Int64 = 0
    /// How often the process has asked the source.
    var fetches = 0
    /// Tasks that got no value or another one.
    var failures = 0

    /// Adds another process's part in the same round.
    mutating func add(_ other: HerdResult) {
        allBegan = max(allBegan, other.allBegan)
        fetchBegan = fetchBegan ?? other.fetchBegan
        fetchEnded = fetchEnded ?? other.fetchEnded
        first = min(first, other.first)
        last = max(last, other.last)
        processorTime += other.processorTime
        fetches += other.fetches
        failures += other.failures
    }
}
