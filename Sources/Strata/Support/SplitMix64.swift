/// The SplitMix64 generator (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
///
/// For jitter and for seeded tests; never for tokens.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    static let step: UInt64 = 0x9e37_79b9_7f4a_7c15

    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= Self.step
        return Self.mix(state)
    }

    static func mix(_ state: UInt64) -> UInt64 {
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
