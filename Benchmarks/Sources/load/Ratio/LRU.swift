/// Evicts what was asked for longest ago.
struct LRU: ReplayedCache {
    private let capacity: Int
    private var queues: KeyQueues
    private var isInside: [Bool]

    init(capacity: Int, distinct: Int) {
        self.capacity = capacity
        queues = KeyQueues(keys: distinct, queues: 1)
        isInside = Array(repeating: false, count: distinct)
    }

    mutating func request(_ key: UInt32) -> Bool {
        let key = Int(key)
        let hit = isInside[key]
        if hit {
            queues.remove(key, 0)
        } else if queues.counts[0] >= capacity {
            isInside[queues.popLast(0)] = false
        }
        isInside[key] = true
        queues.pushFront(key, 0)
        return hit
    }
}
