/// What a ``ConsistencyMonitor`` has seen: the share of true values that memory serves, by the time after a change.
public struct ConsistencyReport: Sendable, Hashable {
    /// The results of checks: one for each change, each delay and each instance.
    public struct Counts: Sendable, Hashable {
        /// Memory held nothing older than Redis, or would not have served it.
        public internal(set) var consistent = 0
        /// Memory served a value older than the one in Redis.
        public internal(set) var inconsistent = 0
        /// Memory held an entry past its freshness, which is served marked as stale.
        public internal(set) var stale = 0
        /// The instance knew that it does not hear of changes: a read asks Redis first, or the entry ends within
        /// seconds.
        public internal(set) var suspect = 0
        /// Memory held something else than Redis, and it cannot be proved which is older.
        public internal(set) var undecided = 0
        /// The instance cannot look up keys of its type, or its answer made no sense.
        public internal(set) var unknown = 0
        /// The instance did not answer.
        public internal(set) var silent = 0
        /// The key changed again and again while it was looked at.
        public internal(set) var unsettled = 0

        /// The checks with a result: the consistent and the inconsistent ones.
        public var checks: Int { consistent + inconsistent }

        /// The number of nines: 3 for 99.9 % of the checks with a consistent result, 4 for 99.99 %.
        ///
        /// Without an inconsistency it is what that number of checks can show: 3 for a thousand. `nil` without a check.
        public var nines: Double? { checks == 0 ? nil : Self.logarithm(Double(checks) / Double(max(inconsistent, 1))) }

        static func + (left: Counts, right: Counts) -> Counts {
            var sum = left
            for field in Self.fields { sum[keyPath: field] += right[keyPath: field] }
            return sum
        }

        private static var fields: [WritableKeyPath<Counts, Int>] {
            [\.consistent, \.inconsistent, \.stale, \.suspect, \.undecided, \.unknown, \.silent, \.unsettled]
        }

        /// To the base 10.
        private static func logarithm(_ number: Double) -> Double {
            var (rest, result) = (number, 0.0)
            while rest >= 10 {
                rest /= 10
                result += 1
            }
            // A digit at a time: log10(x) = log10(x¹⁰) / 10.
            var step = 0.1
            for _ in 0..<6 {
                var power = rest
                for _ in 1..<10 { power *= rest }
                while power >= 10 {
                    power /= 10
                    result += step
                }
                rest = power
                step /= 10
            }
            return result
        }
    }

    /// What was counted in a span of time.
    public struct Bucket: Sendable, Hashable {
        /// When the span began, from when the monitor was made.
        public let start: Duration
        /// By delay, in the order of ``ConsistencyReport/delays``.
        public internal(set) var counts: [Counts]
    }

    /// The delays after a change.
    public let delays: [Duration]
    /// How long a bucket is.
    public let bucketLength: Duration
    /// The last spans with a check, the oldest first; 60 at most.
    public internal(set) var buckets: [Bucket] = []
    /// Everything since the monitor was made, by delay.
    public internal(set) var total: [Counts]
    /// How many instances are asked.
    public internal(set) var instances = 0
    /// Whether the monitor hears of changes.
    public internal(set) var isListening = false
    /// Why it does not, for a person; `nil` if that is not known.
    public internal(set) var refusal: String?
    /// Changes that were heard of; a key that changes again before its first check counts once.
    public internal(set) var changes = 0
    /// Changes that were not followed, because of the rate or because the key is too long to be asked for.
    public internal(set) var leftOut = 0
    /// Checks that were given up: the monitor's own link was lost, Redis did not answer, or it came too late.
    public internal(set) var abandoned = 0

    static let mostBuckets = 60

    init(delays: [Duration], bucketLength: Duration) {
        self.delays = delays
        self.bucketLength = bucketLength
        total = delays.map { _ in Counts() }
    }

    /// The buckets of the last ``mostBuckets`` spans: where little is checked, others are older.
    func buckets(at instant: Duration) -> [Bucket] {
        buckets.filter { $0.start > instant - bucketLength * Self.mostBuckets }
    }

    /// Counts the outcome of checks at an instant, given from when the monitor was made.
    mutating func add(_ counts: Counts, delay: Int, at instant: Duration) {
        total[delay] = total[delay] + counts
        let start = bucketLength * Int(instant / bucketLength)
        if buckets.last?.start != start {
            if buckets.count == Self.mostBuckets { buckets.removeFirst() }
            buckets.append(Bucket(start: start, counts: delays.map { _ in Counts() }))
        }
        buckets[buckets.count - 1].counts[delay] = buckets[buckets.count - 1].counts[delay] + counts
    }
}
