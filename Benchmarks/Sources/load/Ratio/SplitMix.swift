/// A small reproducible generator of random numbers (Steele, Lea, Flood, 2014).
struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Replay.mix(state)
    }

    /// A hash of a number, for keys that are numbers.
    static func hash(_ value: UInt64) -> UInt64 { Replay.mix(value &+ 0x5EED) }

    /// A number from 0 up to, and without, 1.
    mutating func nextUnit() -> Double { Double(next() >> 11) * 0x1p-53 }
}

/// What several parts of the simulator share.
enum Replay {
    static func mix(_ value: UInt64) -> UInt64 {
        var mixed = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
