import Strata

/// Chance that tasks share, from a seed.
package final class Dice: Sendable {
    private let random: Locked<SplitMix64>

    package init(seed: UInt64) { random = Locked(SplitMix64(seed: seed)) }

    /// A number of a range.
    package func roll(_ range: Range<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }

    /// Whether something happens that has a chance of one in `many`.
    package func once(in many: Int) -> Bool { roll(0..<many) == 0 }
}
