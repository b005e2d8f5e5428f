/// Remembers of keys that are not in the cache how often they were asked for, roughly, and which left it last.
///
/// A count-min sketch (Cormode and Muthukrishnan, 2005) of four-bit counters. The three counters of a key lie in one
/// block of 64 bytes, so that a look costs one cache miss of the processor. All counts are halved once an epoch,
/// which is what lets the cache forget (Einziger, Friedman, Manes, "TinyLFU", 2017); a block is halved when it is
/// next touched and not in one sweep, so no operation ever walks over the whole sketch.
///
/// The rest of a block are the tags of the eight keys of the block that left the cache last: a ghost queue, cut into
/// pieces. With five to seven entries of the cache to a block, all pieces together reach back over about as many keys
/// as the cache holds.
///
/// Only keys that leave the cache are written here: those inside carry their exact count with them.
@usableFromInline
struct FrequencySketch: ~Copyable, Sendable {
    /// Eight words a block: three pairs of words with sixteen counters each, and a pair with four tags each.
    var words: FlatArray<UInt64>
    /// The epoch in which each block was halved last.
    var epochs: FlatArray<UInt8>
    var blockCount: Int
    /// Nothing was written yet, so that every key is unknown.
    var isEmpty = true

    /// The largest count that a counter holds.
    @usableFromInline static var maximum: UInt8 { 15 }
    /// Beside a count: the key was asked for shortly before, and is not just remembered from long ago.
    @usableFromInline static var returned: UInt8 { 0x80 }

    init(blockCount: Int) {
        self.blockCount = blockCount
        words = FlatArray(repeating: 0, count: blockCount * 8)
        epochs = FlatArray(repeating: 0, count: blockCount)
    }

    /// The first word of a key's block, after the block was brought up to date.
    @inline(__always)
    private mutating func block(of hash: UInt32, at epoch: UInt8) -> Int {
        let block = Int(truncatingIfNeeded: (UInt64(hash) &* UInt64(truncatingIfNeeded: blockCount)) &>> 32)
        if epochs[block] != epoch { age(block, to: epoch) }
        return block &* 8
    }

    /// Halves the counts of a block once for each epoch since it was touched last.
    private mutating func age(_ block: Int, to epoch: UInt8) {
        let halvings = UInt64(min(epoch &- epochs[block], 4))
        epochs[block] = epoch
        let kept: UInt64 = 0x1111_1111_1111_1111 &* (0xF &>> halvings)
        for word in block * 8..<block * 8 + 6 {
            words[word] = (words[word] &>> halvings) & kept
        }
    }

    /// Any part of a key's block, read only to have the block at hand a moment later.
    @inline(__always)
    func peek(_ hash: UInt32) -> UInt32 {
        UInt32(
            truncatingIfNeeded: words[
                Int(truncatingIfNeeded: (UInt64(hash) &* UInt64(truncatingIfNeeded: blockCount)) &>> 32) &* 8
            ]
        )
    }

    /// Where the three counters of a key stand in its block: six bits each, from bit 0 up, of which the lower four
    /// say which counter of a word and the fifth which word of a pair.
    @inline(__always)
    private func places(of hash: UInt32) -> UInt64 {
        (UInt64(hash) &* 0x9E37_79B9_7F4A_7C15) &>> 40
    }

    /// How often the key was asked for at most, as far as is known, and ``returned`` if it left the cache lately.
    ///
    /// Complexity: O(1).
    mutating func recall(_ hash: UInt32, at epoch: UInt8) -> UInt8 {
        if isEmpty { return 0 }
        let block = block(of: hash, at: epoch)
        let places = places(of: hash)
        let first = counter(block, places)
        let second = counter(block &+ 2, places &>> 6)
        let third = counter(block &+ 4, places &>> 12)
        let count = UInt8(truncatingIfNeeded: min(first, min(second, third)))
        return hasTag(FrequencySketch.tag(of: hash), block) ? count | FrequencySketch.returned : count
    }

    /// Notes that a key leaves the cache, and sees to it that it is remembered with at least `count`.
    ///
    /// Complexity: O(1).
    mutating func retire(_ hash: UInt32, count: UInt8, at epoch: UInt8) {
        isEmpty = false
        let block = block(of: hash, at: epoch)
        let places = places(of: hash)
        raise(block, places, to: UInt64(count))
        raise(block &+ 2, places &>> 6, to: UInt64(count))
        raise(block &+ 4, places &>> 12, to: UInt64(count))
        let newer = words[block &+ 6]
        words[block &+ 7] = words[block &+ 7] &<< 16 | newer &>> 48
        words[block &+ 6] = newer &<< 16 | FrequencySketch.tag(of: hash)
    }

    /// Sixteen bits of a hash that are never all zero, which is what an empty place holds.
    @inline(__always)
    private static func tag(of hash: UInt32) -> UInt64 {
        UInt64(hash & 0xFFFF) | 1
    }

    /// Whether one of the eight tags of a block is the given one: all four of a word are compared at once.
    @inline(__always)
    private func hasTag(_ tag: UInt64, _ block: Int) -> Bool {
        let ones: UInt64 = 0x0001_0001_0001_0001
        let newer = words[block &+ 6] ^ (tag &* ones)
        let older = words[block &+ 7] ^ (tag &* ones)
        let zeroInNewer = (newer &- ones) & ~newer
        let zeroInOlder = (older &- ones) & ~older
        return (zeroInNewer | zeroInOlder) & (ones &<< 15) != 0
    }

    @inline(__always)
    private func counter(_ pair: Int, _ place: UInt64) -> UInt64 {
        let word = words[pair &+ Int(truncatingIfNeeded: (place &>> 4) & 1)]
        return (word &>> ((place & 15) &* 4)) & 15
    }

    @inline(__always)
    private mutating func raise(_ pair: Int, _ place: UInt64, to count: UInt64) {
        let index = pair &+ Int(truncatingIfNeeded: (place &>> 4) & 1)
        let shift = (place & 15) &* 4
        let word = words[index]
        let present = (word &>> shift) & 15
        words[index] = word &+ ((max(count, present) &- present) &<< shift)
    }

    /// Doubles the number of blocks and keeps every count.
    ///
    /// Complexity: O(blocks).
    ///
    /// A key's block is its hash scaled to the number of blocks, so with twice as many it is one of the two at twice
    /// the index.
    mutating func double() {
        var doubled = FlatArray<UInt64>(repeating: 0, count: blockCount * 16)
        var doubledEpochs = FlatArray<UInt8>(repeating: 0, count: blockCount * 2)
        for block in 0..<blockCount * 2 {
            for word in 0..<8 { doubled[block * 8 + word] = words[block / 2 * 8 + word] }
            doubledEpochs[block] = epochs[block / 2]
        }
        words = doubled
        epochs = doubledEpochs
        blockCount *= 2
    }

    /// Forgets everything.
    ///
    /// Complexity: O(blocks).
    mutating func removeAll() {
        words.fill(with: 0)
        epochs.fill(with: 0)
        isEmpty = true
    }
}
