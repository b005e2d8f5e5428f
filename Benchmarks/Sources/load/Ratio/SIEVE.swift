/// A queue in order of insertion, a mark for what was asked for, and a hand that evicts the next unmarked key and
/// takes marks away on its way (Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024).
struct SIEVE: ReplayedCache {
    private let capacity: Int
    private var queues: KeyQueues
    private var isInside: [Bool]
    private var isMarked: [Bool]
    private var hand: Int?

    init(capacity: Int, distinct: Int) {
        self.capacity = capacity
        queues = KeyQueues(keys: distinct, queues: 1)
        isInside = Array(repeating: false, count: distinct)
        isMarked = isInside
    }

    mutating func request(_ key: UInt32) -> Bool {
        let key = Int(key)
        if isInside[key] {
            isMarked[key] = true
            return true
        }
        if queues.counts[0] >= capacity {
            var victim = hand ?? queues.last(0)
            while isMarked[victim] {
                isMarked[victim] = false
                victim = queues.before(victim) ?? queues.last(0)
            }
            hand = queues.before(victim)
            queues.remove(victim, 0)
            isInside[victim] = false
        }
        isInside[key] = true
        isMarked[key] = false
        queues.pushFront(key, 0)
        return false
    }
}
