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

/// What a process of `load herd` answers.
struct HerdResult: Codable {
    /// When the process' last task was done, in nanoseconds after the start.
    var last: Int64 = 0
    /// How often the process has asked the source.
    var fetches = 0
    /// Tasks that got no value or another one.
    var failures = 0
}
