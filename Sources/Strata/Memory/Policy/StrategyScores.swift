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

    /// Takes note of a request that hit in the miniatures whose bit is set.
    ///
    /// - Returns: The miniature to change to, if there is one better than `current`.
    mutating func record(_ hitMiniatures: UInt32, miniatures: Int, current: Int) -> Int? {
        weight *= growth
        requests = requests * fading + 1
        if weight > 0x1p60 { normalize() }
        let everyMiniature: UInt32 = (1 &<< UInt32(truncatingIfNeeded: miniatures)) &- 1
        guard hitMiniatures != 0, hitMiniatures != everyMiniature else { return nil }
        let currentHits = hitMiniatures &>> UInt32(truncatingIfNeeded: current) & 1
        let unlike = currentHits == 0 ? hitMiniatures : ~hitMiniatures
        for miniature in 0..<miniatures {
            let bit = UInt32(truncatingIfNeeded: miniature)
            hits[miniature] += Float(hitMiniatures &>> bit & 1) * weight
            disagreements[miniature] += Float(unlike &>> bit & 1) * weight
        }
        return currentHits == 0 ? betterMiniature(than: current, miniatures) : nil
    }

    /// The miniature with the most hits, if its lead is not by chance.
    private mutating func betterMiniature(than current: Int, _ miniatures: Int) -> Int? {
        let threshold = hits[current] + 0.002 * requests * weight
        var best = current
        var most = threshold + 1.5 * weight
        for miniature in 0..<miniatures where hits[miniature] > most {
            let lead = (hits[miniature] - threshold) / weight
            if lead > 1.5 * (1 + (disagreements[miniature] / weight).squareRoot()) {
                best = miniature
                most = hits[miniature]
            }
        }
        guard best != current else { return nil }
        for miniature in 0..<miniatures { disagreements[miniature] = (hits[miniature] - hits[best]).magnitude }
        return best
    }

    private mutating func normalize() {
        let least = hits.min()
        for miniature in hits.indices {
            hits[miniature] = (hits[miniature] - least) / weight
            disagreements[miniature] /= weight
        }
        weight = 1
    }
}
