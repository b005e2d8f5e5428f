@testable import Strata

/// A reproducible generator of random numbers (SplitMix64).
struct TestRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return EvictionPolicy.mix(state)
    }
}

/// A policy behind the simplest map there is: the key is the slot.
///
/// Counts hits.
struct KeyedPolicy: ~Copyable {
    var policy: EvictionPolicy
    var hits = 0
    private var victims: [UInt32] = []

    init(_ policy: consuming EvictionPolicy) {
        self.policy = policy
    }

    /// Asks for a key, and on a miss takes it in.
    ///
    /// Returns whether it was a hit.
    @discardableResult
    mutating func request(_ key: Int) -> Bool {
        let slot = UInt32(key)
        if policy.contains(slot) {
            policy.recordHit(slot)
            hits += 1
            return true
        }
        victims.removeAll(keepingCapacity: true)
        policy.insert(slot, hash: UInt64(key), victims: &victims)
        return false
    }
}

/// The plainest LRU: an array, coldest first.
struct PlainLRU {
    let capacity: Int
    var keys: [Int] = []
    var hits = 0

    init(capacity: Int) { self.capacity = capacity }

    mutating func request(_ key: Int) {
        if let place = keys.firstIndex(of: key) {
            keys.remove(at: place)
            hits += 1
        } else if keys.count == capacity {
            keys.removeFirst()
        }
        keys.append(key)
    }
}

/// Ranks from 0 with probabilities that fall as one over the rank.
struct Skew {
    private var cumulative: [Double] = []

    init(_ count: Int) {
        var sum = 0.0
        for rank in 1...count {
            sum += 1 / Double(rank)
            cumulative.append(sum)
        }
    }

    func next(_ random: inout TestRandom) -> Int {
        let target = Double.random(in: 0..<cumulative[cumulative.count - 1], using: &random)
        var low = 0
        var high = cumulative.count - 1
        while low < high {
            let middle = (low + high) / 2
            if cumulative[middle] <= target { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
