import FleetSimulation

/// W-TinyLFU with a fixed window of one hundredth, as in Caffeine up to 2.6 (Einziger, Friedman, Manes, 2017): a
/// small LRU whose victims enter a segmented LRU only if a sketch of frequencies says that they are asked for more
/// often.
struct FixedWindowTinyLFU: ReplayedCache {
    private let capacity: Int
    private let windowCapacity: Int
    private let protectedCapacity: Int
    private var queues: KeyQueues
    private var places: [Int?]
    private var counters: [UInt8]
    private var additions = 0
    private var dice: UInt32 = 1

    init(capacity: Int, distinct: Int) {
        self.capacity = capacity
        windowCapacity = max(1, Int((Double(capacity) / 100).rounded()))
        protectedCapacity = (capacity - windowCapacity) * 4 / 5
        queues = KeyQueues(keys: distinct, queues: 3)
        places = Array(repeating: nil, count: distinct)
        var size = 128
        while size < capacity * 16 { size *= 2 }
        counters = Array(repeating: 0, count: size)
    }

    mutating func request(_ key: UInt32) -> Bool {
        increment(key)
        let key = Int(key)
        switch places[key] {
        case 0:
            move(key, to: 0)
            return true
        case .some:
            move(key, to: 2)
            if queues.counts[2] > protectedCapacity { move(queues.last(2), to: 1) }
            return true
        case nil:
            move(key, to: 0)
            if queues.counts[0] > windowCapacity { admit(queues.last(0)) }
            return false
        }
    }

    private mutating func admit(_ candidate: Int) {
        guard queues.counts.reduce(0, +) > capacity else {
            move(candidate, to: 1)
            return
        }
        let victim = queues.counts[1] > 0 ? queues.last(1) : queues.counts[2] > 0 ? queues.last(2) : candidate
        let frequency = estimate(UInt32(candidate))
        dice = dice &* 1_664_525 &+ 1_013_904_223
        if victim != candidate, frequency > estimate(UInt32(victim)) || (frequency >= 6 && dice >> 25 == 0) {
            move(victim, to: nil)
            move(candidate, to: 1)
        } else {
            move(candidate, to: nil)
        }
    }

    private mutating func move(_ key: Int, to place: Int?) {
        if let old = places[key] { queues.remove(key, old) }
        places[key] = place
        if let place { queues.pushFront(key, place) }
    }

    private func place(_ key: UInt32, _ row: UInt64) -> Int {
        Int((SplitMix.mix(UInt64(key) &+ row << 40) >> 8) & UInt64(counters.count / 4 - 1)) + Int(row) * counters.count
            / 4
    }

    private func estimate(_ key: UInt32) -> UInt8 {
        (0..<4).reduce(15) { min($0, counters[place(key, $1)]) }
    }

    private mutating func increment(_ key: UInt32) {
        var isCounted = false
        for row in 0..<4 {
            let place = place(key, UInt64(row))
            guard counters[place] < 15 else { continue }
            counters[place] += 1
            isCounted = true
        }
        additions += isCounted ? 1 : 0
        guard additions >= max(10, 10 * capacity) else { return }
        for place in counters.indices { counters[place] /= 2 }
        additions /= 2
    }
}
