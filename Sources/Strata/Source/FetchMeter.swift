/// Counts the fetches of a source, and tells how long they took.
package final class FetchMeter: Sendable {
    private let begun = Tally()
    private let failed = Tally()
    /// Hears how long each fetch took.
    package let durations = WorkDurations()
    /// Hears of each fetch.
    package let events = EventHub()

    package init() {}

    /// A fetch begins.
    package func begin(_ key: some Hashable & Sendable) {
        begun.add()
        events.tell(.fetchBegan) { CacheEvent($0, at: .source, key: key) }
    }

    /// A fetch has ended with a value, or with the knowledge that there is none.
    package func end(_ key: some Hashable & Sendable, from start: MonotonicInstant, to end: MonotonicInstant) {
        durations.tell(.fetch, start.nanoseconds(to: end))
        events.tell(.fetchEnded) { CacheEvent($0, at: .source, key: key, duration: start.duration(to: end)) }
    }

    /// A fetch has ended with an error.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - error: The error.
    ///   - start: When the fetch began.
    ///   - isFailure: False for a fetch that was cancelled.
    package func end(
        _ key: some Hashable & Sendable,
        with error: any Error,
        from start: MonotonicInstant,
        isFailure: Bool = true
    ) {
        if isFailure { failed.add() }
        let end = MonotonicInstant.now
        durations.tell(.fetch, start.nanoseconds(to: end), error: CacheError.name(of: error))
        events.tell(.fetchEnded) { kind in
            let name = CacheError.name(of: error)
            return CacheEvent(kind, at: .source, key: key, duration: start.duration(to: end), error: name)
        }
    }

    /// The counters of the fetches for a label.
    package var counters: [LevelLabel.Counter] {
        [.init(detail: "fetches", begun.count), .init(detail: "failed_fetches", failed.count)]
    }
}
