/// A cache as the simulator sees it: asked for a key it says whether it had it, and if not, takes it in.
protocol ReplayedCache {
    mutating func request(_ key: UInt32) -> Bool
}

extension Trace {
    /// Replays the trace.
    ///
    /// Returns the hits in percent of all requests.
    func hitRatio(of cache: some ReplayedCache) -> Double {
        var cache = cache
        var hits = 0
        for key in keys where cache.request(key) { hits += 1 }
        return keys.isEmpty ? 0 : 100 * Double(hits) / Double(keys.count)
    }
}

/// Doubly linked queues over numbered keys, each key in one queue at most.
///
/// Shared by the reference policies.
struct KeyQueues {
    private var previous: [Int]
    private var next: [Int]
    private let keys: Int
    private(set) var counts: [Int]

    init(keys: Int, queues: Int) {
        self.keys = keys
        previous = Array(0..<keys + queues)
        next = previous
        counts = Array(repeating: 0, count: queues)
    }

    mutating func pushFront(_ key: Int, _ queue: Int) {
        let head = keys + queue
        next[key] = next[head]
        previous[key] = head
        previous[next[head]] = key
        next[head] = key
        counts[queue] += 1
    }

    mutating func remove(_ key: Int, _ queue: Int) {
        next[previous[key]] = next[key]
        previous[next[key]] = previous[key]
        counts[queue] -= 1
    }

    mutating func popLast(_ queue: Int) -> Int {
        let key = previous[keys + queue]
        remove(key, queue)
        return key
    }

    func last(_ queue: Int) -> Int { previous[keys + queue] }

    /// The key in front of another, or `nil` at the front.
    func before(_ key: Int) -> Int? { previous[key] >= keys ? nil : previous[key] }
}
