/// An operation that has begun and whose end is still to be recorded.
///
/// If the end never comes, because the process was killed in it, the operation counts as begun only: a write may have
/// been made or not, an invalidation requires nothing.
public struct OngoingEvent: Sendable {
    let spool: RecordSpool
    let place: RecordSpool.Place
    let version: UInt64

    /// Records that the operation came to its end: a fault is over, an instance has stopped, an invalidation is done.
    public func end() {
        spool.complete(place, .done, version: version, end: HistoryClock.now())
    }

    /// Records that the operation failed: it may have had its effect or not.
    public func fail() {
        spool.complete(place, .failed, version: version, end: HistoryClock.now())
    }

    /// Records the version that a write or a fetch ended with; 0 for a fetch that found nothing.
    ///
    /// - Parameter version: The version.
    public func end(version: UInt64) {
        spool.complete(place, version == 0 ? .absent : .value, version: version, end: HistoryClock.now())
    }
}
