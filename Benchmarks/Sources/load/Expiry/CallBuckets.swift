import Synchronization

/// Calls counted by when they came.
final class CallBuckets: Sendable {
    private struct State {
        var start: ContinuousClock.Instant?
        var counts: [Int] = []
    }

    private let width: Duration
    private let state = Mutex(State())

    init(width: Duration) {
        self.width = width
    }

    /// Begins to count.
    func start() {
        state.withLock { $0 = State(start: .now) }
    }

    func count() {
        state.withLock { state in
            guard let start = state.start else { return }
            let bucket = Int(start.duration(to: .now) / width)
            while state.counts.count <= bucket { state.counts.append(0) }
            state.counts[bucket] += 1
        }
    }

    /// The fullest bucket over the mean of all.
    var peakOverMean: Double {
        state.withLock { state in
            let total = state.counts.reduce(0, +)
            guard total > 0 else { return .nan }
            return Double(state.counts.max() ?? 0) / (Double(total) / Double(state.counts.count))
        }
    }
}

/// A count that tasks share.
final class SharedCounter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
