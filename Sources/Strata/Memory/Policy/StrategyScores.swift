/// Compares the hits of several strategies over the same requests.
///
/// Each strategy has a sum of its hits in which older requests fade, and a sum of the requests in which it and the
/// current strategy disagreed. If two strategies were equally good, the difference of their hits would wander by
/// about the root of the number of disagreements; only a difference well beyond that is taken as a reason to change.
///
/// Only requests in which not all strategies agree make a difference. Instead of fading what is old on every request,
/// what is new weighs more and more; all sums are in units of `weight`.
struct StrategyScores: Sendable {
    private var hits = SIMD8<Float>(repeating: 0)
    private var disagreements = SIMD8<Float>(repeating: 0)
    private var requests: Float = 0
    private var weight: Float = 1
    private var growth: Float = 1
    private var fading: Float = 1

    /// Requests older than about the given number stop to count.
    mutating func setMemory(requests: Int) {
        fading = 1 - 1 / Float(max(requests, 2))
        growth = 1 / fading
    }

    /// Takes note of a request that hit in the lanes whose bit is set.
    ///
    /// - Returns: The lane to change to, if there is one better than `current`.
    mutating func record(_ hitLanes: UInt32, lanes: Int, current: Int) -> Int? {
        weight *= growth
        requests = requests * fading + 1
        if weight > 0x1p60 { normalize() }
        let everyLane: UInt32 = (1 &<< UInt32(truncatingIfNeeded: lanes)) &- 1
        guard hitLanes != 0, hitLanes != everyLane else { return nil }
        let currentHits = hitLanes &>> UInt32(truncatingIfNeeded: current) & 1
        let unlike = currentHits == 0 ? hitLanes : ~hitLanes
        for lane in 0..<lanes {
            let bit = UInt32(truncatingIfNeeded: lane)
            hits[lane] += Float(hitLanes &>> bit & 1) * weight
            disagreements[lane] += Float(unlike &>> bit & 1) * weight
        }
        return currentHits == 0 ? betterLane(than: current, lanes) : nil
    }

    /// The lane with the most hits, if its lead is not by chance.
    private mutating func betterLane(than current: Int, _ lanes: Int) -> Int? {
        let threshold = hits[current] + 0.002 * requests * weight
        var best = current
        var most = threshold + 1.5 * weight
        for lane in 0..<lanes where hits[lane] > most {
            let lead = (hits[lane] - threshold) / weight
            if lead > 1.5 * (1 + (disagreements[lane] / weight).squareRoot()) {
                best = lane
                most = hits[lane]
            }
        }
        guard best != current else { return nil }
        for lane in 0..<lanes { disagreements[lane] = (hits[lane] - hits[best]).magnitude }
        return best
    }

    private mutating func normalize() {
        let least = hits.min()
        for lane in hits.indices {
            hits[lane] = (hits[lane] - least) / weight
            disagreements[lane] /= weight
        }
        weight = 1
    }
}
