internal import Strata

/// A generator whose numbers follow from a seed, so that a run with random choices can be repeated.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    /// A generator; equal seeds give equal numbers.
    public init(seed: UInt64) {
        generator = SplitMix64(seed: seed)
    }

    /// The next number.
    public mutating func next() -> UInt64 { generator.next() }
}
