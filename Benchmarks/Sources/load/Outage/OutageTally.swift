/// What a process of `load outage` has counted since it last told.
struct OutageTally: Codable {
    var gets = 0
    /// Errors that readers got, although the source never fails, by their text.
    var errors: [String: Int] = [:]
    /// Removes and sets that Redis has failed, and of which the callers were told.
    var failedChanges = 0
    var fetches = 0
    /// The most fetches that have run at once.
    var mostFetches = 0
    /// The longest read that waited for no other one, in microseconds.
    var slowest = 0.0
    /// Reads of a key that no level has while the breaker was open, in microseconds.
    var openReads: [Double] = []
    /// Beside each of them: a task that asks the source.
    var bareReads: [Double] = []
    /// And one that asks it in a task group whose other task ends it after a while, as one would bound a call by hand.
    var boundedReads: [Double] = []

    mutating func add(_ other: OutageTally) {
        gets += other.gets
        errors.merge(other.errors, uniquingKeysWith: +)
        failedChanges += other.failedChanges
        fetches += other.fetches
        mostFetches = max(mostFetches, other.mostFetches)
        slowest = max(slowest, other.slowest)
        openReads += other.openReads
        bareReads += other.bareReads
        boundedReads += other.boundedReads
    }
}

/// What the driver of `load outage` orders.
enum OutageOrder: Codable {
    /// Begins to count anew.
    case begin
    /// Waits until all is as before, and tells how long that took.
    case recover
    /// Tells what was counted.
    case tell
    /// Ends the work.
    case finish
}

/// What a process of `load outage` answers.
enum OutageAnswer: Codable {
    case ready
    /// After so many milliseconds; `nil` when it took too long.
    case recovered(Double?)
    case told(OutageTally)
}
