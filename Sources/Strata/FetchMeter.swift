/// Counts the fetches of a source, and tells how long they took.
package final class FetchMeter: Sendable {
    private let begun = Tally()
    private let failed = Tally()
    /// Hears how long each fetch took.
    package let durations = WorkDurations()

    package init() {}

    /// A fetch begins.
    func begin() { begun.add() }

    /// A fetch has ended with a value, or with the knowledge that there is none.
    func end(from start: MonotonicInstant, to end: MonotonicInstant) {
        durations.tell(.fetch, start.nanoseconds(to: end))
    }

    /// A fetch has ended with an error.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - start: When the fetch began.
    ///   - isFailure: False for a fetch that was cancelled.
    func end(with error: any Error, from start: MonotonicInstant, isFailure: Bool = true) {
        if isFailure { failed.add() }
        durations.tell(.fetch, start.nanoseconds(to: .now), error: CacheError.name(of: error))
    }

    /// What a label says of the fetches.
    package var counters: [LevelLabel.Counter] {
        [.init(detail: "fetches", begun.count), .init(detail: "failed_fetches", failed.count)]
    }
}
