/// One way to divide a cache between recency and frequency.
///
/// All strategies work on the same queues: new entries come into a *window*; an entry that leaves a full window
/// is a *candidate* and competes with the coldest entry of the *main* region, which is a segmented LRU of a
/// *probation* and a *protected* part. They differ in how large the window is, in what a hit in the window does, and
/// in what a candidate must show to get in. The set spans LRU, a FIFO, W-TinyLFU (Einziger, Eytan, Friedman, Manes,
/// "Adaptive Software Cache Management", Middleware 2018), and the two-queue family (2Q, ARC, S3-FIFO) in which to be
/// seen twice is enough.
@usableFromInline
package struct EvictionStrategy: Equatable, Sendable, BitwiseCopyable {
    /// What a candidate from the window must show to replace the victim of the main region.
    @usableFromInline
    package enum Admission: UInt8, Sendable, BitwiseCopyable {
        /// It was asked for more often than the victim.
        case moreFrequent
        /// It was asked for more often by three or more. One request in a loop or a scan is never enough, and counts
        /// that differ by chance or by the moment of their halving do not churn the main region.
        case clearlyMoreFrequent
        /// It was asked for more often than the victim, or at least twice, however long ago within the memory of the
        /// sketch.
        case seenTwice
        /// It was asked for more often than the victim, or twice within about as long as it takes to evict as many
        /// entries as the cache holds.
        case seenTwiceLately
    }

    /// What a hit does to an entry of the window.
    @usableFromInline
    package enum WindowHit: UInt8, Sendable, BitwiseCopyable {
        /// It moves to the front: the window is an LRU.
        case refreshes
        /// It stays where it is: the window is a FIFO.
        case stays
        /// It moves to the main region: the window holds only what was asked for once.
        case promotes
    }

    @usableFromInline package var windowShare: Float
    @usableFromInline package var protectedShare: Float
    @usableFromInline package var admission: Admission
    @usableFromInline package var windowHit: WindowHit

    @usableFromInline
    package init(windowShare: Float, protectedShare: Float, admission: Admission, windowHit: WindowHit) {
        self.windowShare = windowShare
        self.protectedShare = protectedShare
        self.admission = admission
        self.windowHit = windowHit
    }

    /// How much of `limit` the window gets: at least 1 where there is anything to divide.
    @inlinable
    package func windowLimit(of limit: Int) -> Int {
        guard windowShare < 1 else { return limit }
        return min(limit, max(1, Int((Double(limit) * Double(windowShare)).rounded())))
    }

    /// How much of `limit` the protected part of the main region gets.
    @inlinable
    package func protectedLimit(of limit: Int) -> Int {
        Int(Double(limit - windowLimit(of: limit)) * Double(protectedShare))
    }

    /// The strategies between which the policy chooses; the first is the one it starts with.
    ///
    /// Chosen from some 300 combinations by the hit ratios in `docs/internals/eviction-policy.md`: the smallest set
    /// that comes near the best combination of every trace.
    @usableFromInline package static let all: [EvictionStrategy] = [
        // The shape of S3-FIFO with LRU queues: best on most recorded traces of web and storage.
        EvictionStrategy(windowShare: 0.1, protectedShare: 0.8, admission: .seenTwice, windowHit: .refreshes),
        // LRU: short reuse distances.
        EvictionStrategy(windowShare: 1, protectedShare: 0, admission: .moreFrequent, windowHit: .refreshes),
        // LFU with inertia: loops, scans, small caches under a fixed skew.
        EvictionStrategy(windowShare: 0.01, protectedShare: 0.8, admission: .clearlyMoreFrequent, windowHit: .stays),
        // W-TinyLFU with a middling window.
        EvictionStrategy(windowShare: 0.2, protectedShare: 0.8, admission: .moreFrequent, windowHit: .promotes),
        // A FIFO with a small frequent region: keys that are used twice or thrice and then never again.
        EvictionStrategy(windowShare: 0.8, protectedShare: 0, admission: .clearlyMoreFrequent, windowHit: .stays),
        // W-TinyLFU with a small window: large caches under a fixed skew.
        EvictionStrategy(windowShare: 0.01, protectedShare: 0.8, admission: .moreFrequent, windowHit: .promotes),
        // 2Q with an LRU behind it: popularity that wanders.
        EvictionStrategy(windowShare: 0.01, protectedShare: 0, admission: .seenTwice, windowHit: .promotes),
        // The same with a short memory, as 2Q and ARC have it: keys that are asked for several times within a while.
        EvictionStrategy(windowShare: 0.01, protectedShare: 0, admission: .seenTwiceLately, windowHit: .promotes),
    ]

    /// Whether a candidate replaces a victim, by how often both were asked for.
    ///
    /// Both are counts with the mark ``FrequencySketch/returned``; `dice` is a random number. A frequent candidate
    /// gets in once in 128 times even if it loses: otherwise keys chosen to collide in the sketch could hold a victim
    /// with an inflated count in the cache for good.
    @inlinable
    func admits(_ candidate: UInt8, over victim: UInt8, dice: UInt32) -> Bool {
        let challenge = candidate & FrequencySketch.maximum
        let defence = victim & FrequencySketch.maximum
        let wins =
            switch admission {
            case .moreFrequent: challenge > defence
            case .clearlyMoreFrequent: challenge > defence &+ 2
            case .seenTwice: challenge > defence || challenge >= 2
            case .seenTwiceLately: challenge > defence || candidate & FrequencySketch.returned != 0
            }
        return wins || (challenge >= 6 && dice & 127 == 0)
    }
}
