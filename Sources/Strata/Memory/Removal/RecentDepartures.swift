/// Why entries have left a memory level lately, for the accounts of reads.
///
/// Nothing is decided by it. A table where a later key takes the place of an earlier one, of 64 to 2 048 words of four
/// bytes. A word has the key's tag, whose lowest bits are the word's place, and in their stead the cause.
@usableFromInline
struct RecentDepartures: ~Copyable, Sendable {
    @usableFromInline static var causeMask: UInt32 { 7 }

    /// A cause is stored as its number and one; zero is a word that was never used.
    @usableFromInline var words: FlatArray<UInt32>

    /// A table for a level of so many entries at most.
    init(expected: Int) {
        var size = 64
        while size < min(expected, 2048) { size *= 2 }
        words = FlatArray(repeating: 0, count: size)
    }

    /// Notes that the entry with this tag has left.
    @inlinable
    @inline(__always)
    mutating func note(_ tag: UInt32, _ cause: RemovalCause) {
        words[place(of: tag)] = tag & ~Self.causeMask | UInt32(cause.number &+ 1)
    }

    /// Why the entry with this tag has left; `nil` when that is not known any more.
    func cause(of tag: UInt32) -> RemovalCause? {
        let word = words[place(of: tag)]
        let number = word & Self.causeMask
        guard number != 0, word & ~Self.causeMask == tag & ~Self.causeMask else { return nil }
        return RemovalCause(number: UInt8(truncatingIfNeeded: number) &- 1)
    }

    @inlinable
    @inline(__always)
    func place(of tag: UInt32) -> Int { Int(tag) & (words.count &- 1) }
}
