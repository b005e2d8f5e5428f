import Strata
import Synchronization

/// What the readers of `load coldstart` got, each tenth of a second by itself.
final class ColdStartTally: Sendable {
    static let span = Duration.milliseconds(100)

    private struct Bucket {
        var reads = 0
        var hits = 0
    }

    private struct Counts {
        var start = ContinuousClock.now
        var buckets: [Bucket] = []
        var failures = 0
        var memoryHits = 0
        var failedSets = 0
    }

    private let counts = Mutex(Counts())

    /// Begins anew.
    func begin() { counts.withLock { $0 = Counts() } }

    /// Counts a read under the moment at which it was due.
    func add(isHit: Bool, isOfMemory: Bool, dueAt due: ContinuousClock.Instant) {
        counts.withLock { counts in
            guard counts.start <= due else { return }
            let index = Int(counts.start.duration(to: due) / Self.span)
            while counts.buckets.count <= index { counts.buckets.append(Bucket()) }
            counts.buckets[index].reads += 1
            if isOfMemory { counts.memoryHits += 1 }
            if isHit { counts.buckets[index].hits += 1 }
        }
    }

    func fail() { counts.withLock { $0.failures += 1 } }
    func failSet() { counts.withLock { $0.failedSets += 1 } }

    var reads: Int { counts.withLock { $0.buckets.reduce(0) { $0 + $1.reads } } }
    var failures: Int { counts.withLock(\.failures) }
    var memoryHits: Int { counts.withLock(\.memoryHits) }
    var failedSets: Int { counts.withLock(\.failedSets) }

    /// After how many seconds a share of all reads, and of those of each later half second, waited for no source; `nil`
    /// when it never came to that.
    func seconds(untilHits share: Double) -> Double? {
        let buckets = counts.withLock(\.buckets)
        let halves = buckets.indices.map { start in
            buckets[start..<min(start + 5, buckets.count)]
                .reduce(into: Bucket()) { sum, bucket in
                    sum.reads += bucket.reads
                    sum.hits += bucket.hits
                }
        }
        let below = halves.lastIndex { Double($0.hits) < share * Double($0.reads) }
        let first = below.map { $0 + 1 } ?? 0
        return first < halves.count ? Double(first) * (Self.span / .seconds(1)) : nil
    }
}
