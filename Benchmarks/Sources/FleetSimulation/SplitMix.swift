/// A small reproducible generator of random numbers (Steele, Lea, Flood, 2014).
public struct SplitMix: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    @inlinable
    public init(seed: UInt64) { state = seed }

    @inlinable
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// A hash of a number, for keys that are numbers.
    @inlinable
    public static func hash(_ value: UInt64) -> UInt64 { mix(value &+ 0x5EED) }

    /// A number from 0 up to, and without, 1.
    @inlinable
    public mutating func nextUnit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// A number whose bits all depend on all bits of another.
    @inlinable
    public static func mix(_ value: UInt64) -> UInt64 {
        var mixed = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
