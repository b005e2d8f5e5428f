import FleetSimulation
import Foundation

/// Traces made by rule, for workloads of which no recording is at hand.
///
/// The same seed makes the same trace.
enum SyntheticTrace: String, CaseIterable, Sendable {
    /// A fixed skew with exponent 0.7, 0.9 or 1.2 over 100 000 keys.
    case zipf07 = "zipf-0.7"
    case zipf09 = "zipf-0.9"
    case zipf12 = "zipf-1.2"
    /// A skew whose keys are renumbered by one in every 25 requests: what is popular wanders.
    case wandering = "zipf-wandering"
    /// A skew of which all keys are replaced at once, eight times.
    case replaced = "zipf-replaced"
    /// A skew in which some keys change places with hot ones all the time.
    case swapped = "zipf-swapped"
    /// The same 1500 keys, one after the other.
    case loop
    /// A skew with a loop of 2500 keys in every second request.
    case loopInZipf = "zipf-loop"
    /// A skew, interrupted by scans of 5000 keys that never come again.
    case scanInZipf = "zipf-scan"
    /// A skew in which four of ten requests are for a key that never comes again.
    case oneHit = "zipf-one-hit"
    /// Reuse distances of a log-normal distribution over the LRU stack: recency is all.
    case stack = "lru-stack"
    /// Keys that are asked for a few times within a while and then never again, over a skew.
    case bursty
    /// Keys that are asked for exactly twice, some 1000 requests apart, over a skew.
    case pairs
    /// Recency, loop and skew in turn, 50 000 requests each.
    case phases
    /// Paths through a tree of pages: points by skew, fresh appends, now and then a range.
    case database
    /// Sessions that use ten keys of their own for some time, over shared ones.
    case sessions

    /// Makes the trace, of about `requests` requests.
    func make(requests: Int = 500_000, seed: UInt64 = 1) -> Trace {
        var generator = SplitMix(seed: seed)
        var keys: [Int] = []
        keys.reserveCapacity(requests)
        while keys.count < requests { fill(&keys, requests, &generator) }
        return Trace(name: rawValue, keys: keys)
    }

    private func fill(_ keys: inout [Int], _ requests: Int, _ random: inout SplitMix) {
        let fresh = 10_000_000
        switch self {
        case .zipf07: skew(0.7, 100_000, &keys, requests, &random) { rank, _ in rank }
        case .zipf09: skew(0.9, 100_000, &keys, requests, &random) { rank, _ in rank }
        case .zipf12: skew(1.2, 100_000, &keys, requests, &random) { rank, _ in rank }
        case .wandering: skew(0.9, 40_000, &keys, requests, &random) { rank, time in rank + time / 25 }
        case .replaced: skew(1, 40_000, &keys, requests, &random) { rank, time in rank + time * 8 / requests * fresh }
        case .swapped: swapping(&keys, requests, &random)
        case .loop: keys += (0..<requests).map { $0 % 1500 }
        case .loopInZipf:
            skew(0.9, 20_000, &keys, requests, &random) { rank, time in time % 2 == 0 ? rank : fresh + time / 2 % 2500 }
        case .scanInZipf:
            skew(0.9, 30_000, &keys, requests, &random) { rank, time in time % 20_000 < 15_000 ? rank : fresh + time }
        case .oneHit:
            skew(0.95, 30_000, &keys, requests, &random) { rank, time in time % 5 < 2 ? fresh + time : rank }
        case .stack: stack(&keys, requests, &random)
        case .bursty: reuse(&keys, requests, &random, times: 4, distance: 2500, share: 0.6)
        case .pairs: reuse(&keys, requests, &random, times: 1, distance: 1000, share: 0.6)
        case .phases: phases(&keys, &random)
        case .database: database(&keys, requests, &random)
        case .sessions: sessions(&keys, requests, &random)
        }
    }
}

extension SyntheticTrace {
    /// Draws ranks from 0 with probabilities that fall by a power of the rank.
    private struct Ranks {
        private var cumulative: [Double] = []

        init(_ exponent: Double, _ count: Int) {
            var sum = 0.0
            for rank in 1...count {
                sum += pow(Double(rank), -exponent)
                cumulative.append(sum)
            }
        }

        func next(_ random: inout SplitMix) -> Int {
            let target = random.nextUnit() * cumulative[cumulative.count - 1]
            var low = 0
            var high = cumulative.count - 1
            while low < high {
                let middle = (low + high) / 2
                if cumulative[middle] < target { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    private func skew(
        _ exponent: Double,
        _ count: Int,
        _ keys: inout [Int],
        _ requests: Int,
        _ random: inout SplitMix,
        _ key: (Int, Int) -> Int
    ) {
        let ranks = Ranks(exponent, count)
        for time in 0..<requests { keys.append(key(ranks.next(&random), time)) }
    }

    private func swapping(_ keys: inout [Int], _ requests: Int, _ random: inout SplitMix) {
        let ranks = Ranks(0.9, 30_000)
        var names = Array(0..<30_000)
        for time in 0..<requests {
            if time % 20 == 0 { names.swapAt(ranks.next(&random), Int.random(in: 0..<30_000, using: &random)) }
            keys.append(names[ranks.next(&random)])
        }
    }

    private func stack(_ keys: inout [Int], _ requests: Int, _ random: inout SplitMix) {
        var stack: [Int] = []
        var fresh = 0
        for _ in 0..<requests {
            let normal = (-2 * log(1 - random.nextUnit())).squareRoot() * cos(2 * .pi * random.nextUnit())
            let distance = Int(exp(5 + 1.7 * normal))
            if distance < stack.count {
                stack.append(stack.remove(at: stack.count - 1 - distance))
            } else {
                stack.append(fresh)
                fresh += 1
                if stack.count > 15_000 { stack.removeFirst() }
            }
            keys.append(stack[stack.count - 1])
        }
    }

    /// New keys that come back `times` times, each after about `distance` requests, in the given share of requests.
    private func reuse(
        _ keys: inout [Int],
        _ requests: Int,
        _ random: inout SplitMix,
        times: Int,
        distance: Int,
        share: Double
    ) {
        let ranks = Ranks(0.9, 20_000)
        var due = Array(repeating: [(key: Int, left: Int)](), count: 4 * distance)
        var waiting: [(key: Int, left: Int)] = []
        var fresh = 10_000_000
        for time in 0..<requests {
            waiting += due[time % due.count]
            due[time % due.count] = []
            var request = (key: ranks.next(&random), left: 0)
            if let back = waiting.popLast() {
                request = back
            } else if random.nextUnit() < share / Double(times + 1) {
                request = (fresh, times)
                fresh += 1
            }
            keys.append(request.key)
            guard request.left > 0 else { continue }
            let gap = max(1, Int(Double(distance) * (0.5 + random.nextUnit())))
            due[(time + gap) % due.count].append((request.key, request.left - 1))
        }
    }

    private func phases(_ keys: inout [Int], _ random: inout SplitMix) {
        let ranks = Ranks(1, 20_000)
        let start = keys.count
        for time in 0..<50_000 { keys.append(10_000_000 + start + time / 2 - (time % 2) * min(time / 2, 300)) }
        for time in 0..<50_000 { keys.append(1_000_000 + time % 1400) }
        for _ in 0..<50_000 { keys.append(ranks.next(&random)) }
    }

    private func database(_ keys: inout [Int], _ requests: Int, _ random: inout SplitMix) {
        let ranks = Ranks(0.8, 60_000)
        var end = 200_000
        while keys.count < requests {
            let choice = random.nextUnit()
            if choice < 0.002 {
                let first = Int.random(in: 0..<59_000, using: &random)
                keys += first..<first + 600
                continue
            }
            var leaf = ranks.next(&random) &* 7919 % 60_000
            if choice > 0.6 {
                leaf = end - min(end - 200_000, Int(-log(1 - random.nextUnit()) * 800))
                end += choice > 0.9 ? 1 : 0
            }
            keys += [3_000_000, 3_000_001 + leaf / 3000, 3_001_000 + leaf / 60, leaf]
        }
    }

    private func sessions(_ keys: inout [Int], _ requests: Int, _ random: inout SplitMix) {
        let shared = Ranks(0.8, 20_000)
        let users = Ranks(0.6, 5000)
        var active = (0..<60).map { _ in users.next(&random) }
        while keys.count < requests {
            if random.nextUnit() < 0.01 { active[Int.random(in: 0..<60, using: &random)] = users.next(&random) }
            if random.nextUnit() < 0.4 {
                keys.append(shared.next(&random))
            } else {
                let user = active[Int.random(in: 0..<60, using: &random)]
                keys.append(1_000_000 + user * 10 + Int.random(in: 0..<10, using: &random))
            }
        }
    }
}
