/// Two LRU queues, for keys seen once and more than once, and a ghost of each, whose hits move the border between
/// them (Megiddo and Modha, FAST 2003).
struct ARC: ReplayedCache {
    private let capacity: Int
    private var target = 0.0
    private var queues: KeyQueues
    /// 0 once, 1 often, 2 ghost of once, 3 ghost of often, `nil` outside.
    private var places: [Int?]

    init(capacity: Int, distinct: Int) {
        self.capacity = capacity
        queues = KeyQueues(keys: distinct, queues: 4)
        places = Array(repeating: nil, count: distinct)
    }

    mutating func request(_ key: UInt32) -> Bool {
        let key = Int(key)
        let counts = queues.counts
        switch places[key] {
        case 0, 1:
            move(key, to: 1)
            return true
        case 2:
            target = min(Double(capacity), target + max(1, Double(counts[3]) / Double(counts[2])))
            replace(ghostOfOften: false)
            move(key, to: 1)
        case 3:
            target = max(0, target - max(1, Double(counts[2]) / Double(counts[3])))
            replace(ghostOfOften: true)
            move(key, to: 1)
        default:
            makeRoom()
            move(key, to: 0)
        }
        return false
    }

    private mutating func makeRoom() {
        let counts = queues.counts
        if counts[0] + counts[2] == capacity {
            if counts[0] < capacity {
                move(queues.last(2), to: nil)
                replace(ghostOfOften: false)
            } else {
                move(queues.last(0), to: nil)
            }
        } else if counts.reduce(0, +) >= capacity {
            if counts.reduce(0, +) == 2 * capacity { move(queues.last(3), to: nil) }
            if counts[0] + counts[1] >= capacity { replace(ghostOfOften: false) }
        }
    }

    private mutating func replace(ghostOfOften: Bool) {
        let once = queues.counts[0]
        if once > 0, Double(once) > target || (ghostOfOften && once == Int(target)) || queues.counts[1] == 0 {
            move(queues.last(0), to: 2)
        } else {
            move(queues.last(1), to: 3)
        }
    }

    private mutating func move(_ key: Int, to place: Int?) {
        if let old = places[key] { queues.remove(key, old) }
        places[key] = place
        if let place { queues.pushFront(key, place) }
    }
}
