/// Three FIFO queues: small (10 %), main, and a ghost of what left the small one (Yang, Zhang, Qiu, Yue, Rashmi, SOSP
/// 2023).
struct S3FIFO: ReplayedCache {
    private enum Place: UInt8 { case outside, small, main, ghost }

    private let capacity: Int
    private let smallCapacity: Int
    private let ghostCapacity: Int
    private var queues: KeyQueues
    private var places: [Place]
    private var counts: [UInt8]

    init(capacity: Int, distinct: Int) {
        self.capacity = capacity
        smallCapacity = max(1, capacity / 10)
        ghostCapacity = max(1, capacity)
        queues = KeyQueues(keys: distinct, queues: 3)
        places = Array(repeating: .outside, count: distinct)
        counts = Array(repeating: 0, count: distinct)
    }

    mutating func request(_ key: UInt32) -> Bool {
        let key = Int(key)
        if places[key] == .small || places[key] == .main {
            counts[key] = min(counts[key] + 1, 3)
            return true
        }
        let wasGhost = places[key] == .ghost
        if wasGhost {
            queues.remove(key, 2)
            places[key] = .outside
        }
        while queues.counts[0] + queues.counts[1] >= capacity { evict() }
        counts[key] = 0
        places[key] = wasGhost ? .main : .small
        queues.pushFront(key, wasGhost ? 1 : 0)
        return false
    }

    private mutating func evict() {
        if queues.counts[0] >= smallCapacity || queues.counts[1] == 0 {
            evictFromSmall()
        } else {
            evictFromMain()
        }
    }

    private mutating func evictFromSmall() {
        while queues.counts[0] > 0 {
            let key = queues.popLast(0)
            guard counts[key] >= 2 else {
                places[key] = .ghost
                queues.pushFront(key, 2)
                if queues.counts[2] > ghostCapacity { places[queues.popLast(2)] = .outside }
                return
            }
            counts[key] = 0
            places[key] = .main
            queues.pushFront(key, 1)
            if queues.counts[1] > capacity - smallCapacity {
                evictFromMain()
                return
            }
        }
    }

    private mutating func evictFromMain() {
        while true {
            let key = queues.popLast(1)
            guard counts[key] > 0 else {
                places[key] = .outside
                return
            }
            counts[key] -= 1
            queues.pushFront(key, 1)
        }
    }
}
