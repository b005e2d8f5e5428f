/// Finds the slots that are due without checking all: a hierarchy of five wheels with 64 buckets each.
///
/// Time is counted in ticks of 67 ms. A bucket of the first wheel is one tick, one of the second 64 ticks, and so on;
/// the five together reach 2 years, and what is due later is looked at again then. A slot stands in the bucket of the
/// highest digit, to the base of 64, in which its tick differs from the present one, and moves down one wheel each time
/// that its bucket comes up (Varghese, Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987). A word of 64 bits
/// for each wheel says which buckets are taken, so a long pause costs no more than a short one.
///
/// Nothing is due early; a caller gets a slot at most one tick after its time.
///
/// Complexity: everything is O(1) for each slot and each wheel that it passes. 12 bytes a slot, from the first use on.
@usableFromInline
package struct TimerWheel: ~Copyable, Sendable {
    /// The neighbours of a slot in its bucket, and when it is due; tick 0 is none.
    @usableFromInline
    struct Link: BitwiseCopyable, Sendable {
        @usableFromInline var previous: UInt32
        @usableFromInline var next: UInt32
        @usableFromInline var tick: UInt32
    }

    static var tickShift: Int64 { 26 }
    static var wheels: Int { 5 }
    static var digitBits: UInt32 { 6 }
    static var buckets: UInt32 { 1 << digitBits }
    /// The heads of the buckets stand before the slots.
    @usableFromInline static var heads: Int { wheels * Int(buckets) }
    static var reach: UInt32 { (1 << (digitBits * UInt32(wheels))) - 1 }

    @usableFromInline var links: FlatArray<Link>
    var occupied = SIMD8<UInt64>(repeating: 0)
    var elapsed: UInt32 = 1
    let origin: Int64
    private let expected: Int
    /// How many slots are waiting.
    @usableFromInline package internal(set) var count = 0

    /// An empty wheel.
    ///
    /// - Parameters:
    ///   - now: The present time in nanoseconds; earlier times count as this one.
    ///   - expected: How many slots there will be at most, if that is known; a good guess saves memory.
    @usableFromInline
    package init(now: Int64, expected: Int = .max) {
        let tick: Int64 = 1 << TimerWheel.tickShift
        self.expected = min(expected, 1 << 31)
        origin = max(now, .min + tick) - tick
        links = FlatArray(repeating: Link(previous: 0, next: 0, tick: 0), count: 1)
    }

    /// Whether the slot is waiting.
    @inlinable
    package func contains(_ slot: UInt32) -> Bool {
        let index = Int(slot) &+ TimerWheel.heads
        return index < links.count && links[index].tick != 0
    }

    /// Lets a slot come up at an instant, in place of any other that was set for it.
    ///
    /// An instant more than nine years after the start never comes up, and is not stored.
    @usableFromInline
    package mutating func schedule(_ slot: UInt32, at deadline: Int64) {
        let index = Int(slot) + TimerWheel.heads
        if contains(slot) { unlink(index) }
        guard let tick = tick(atOrAfter: deadline) else { return }
        prepare(index)
        link(index, tick: max(tick, elapsed &+ 1))
    }

    /// Forgets a slot, which need not be there.
    @usableFromInline
    package mutating func cancel(_ slot: UInt32) {
        if contains(slot) { unlink(Int(slot) + TimerWheel.heads) }
    }

    /// Forgets all slots.
    ///
    /// Complexity: O(slots).
    @usableFromInline
    package mutating func removeAll() {
        links = FlatArray(repeating: Link(previous: 0, next: 0, tick: 0), count: 1)
        occupied = SIMD8(repeating: 0)
        count = 0
    }

    /// When to look again, in nanoseconds: nothing is due before.
    ///
    /// `Int64.max` when nothing waits.
    @usableFromInline
    package var nextLook: Int64 {
        guard let next = nextBucket() else { return .max }
        let (offset, overflow) = (Int64(next.tick) << TimerWheel.tickShift).addingReportingOverflow(origin)
        return overflow ? .max : offset
    }

    /// Takes out slots whose time has come.
    ///
    /// - Parameters:
    ///   - now: The present time in nanoseconds; time that goes backwards is ignored.
    ///   - most: How many to take out at most; the others come next time.
    ///   - due: The slots are appended here.
    @usableFromInline
    package mutating func expire(upTo now: Int64, most: Int, into due: inout SlotList) {
        let present = max(min(tick(before: now), .max - 1), elapsed)
        var left = most
        // A bucket of a higher wheel may hold everything: the rest of one is moved down the next time.
        var moves = most < .max / 64 ? 64 * most : .max
        while let next = nextBucket(), next.tick <= present {
            elapsed = max(elapsed, next.tick)
            let head = next.wheel * Int(TimerWheel.buckets) + next.bucket
            while Int(links[head].next) != head {
                guard left > 0, moves > 0 else { return }
                let index = Int(links[head].next)
                let tick = links[index].tick
                unlink(index)
                if tick <= elapsed {
                    due.append(UInt32(index - TimerWheel.heads))
                    left -= 1
                } else {
                    link(index, tick: tick)
                    moves -= 1
                }
            }
        }
        elapsed = present
    }
}

extension TimerWheel {
    /// The first tick that is not before the instant; `nil` when it is out of range.
    private func tick(atOrAfter instant: Int64) -> UInt32? {
        let (offset, overflow) = instant.subtractingReportingOverflow(origin)
        guard !overflow else { return instant < 0 ? 1 : nil }
        guard offset > 0 else { return 1 }
        return UInt32(exactly: (offset - 1) >> TimerWheel.tickShift + 1)
    }

    /// The last tick that is not after the instant.
    private func tick(before instant: Int64) -> UInt32 {
        let (offset, overflow) = instant.subtractingReportingOverflow(origin)
        guard !overflow else { return instant < 0 ? 0 : .max }
        return UInt32(clamping: offset >> TimerWheel.tickShift)
    }

    /// Makes room for the link, and for the heads at the first use.
    private mutating func prepare(_ index: Int) {
        if links.count < TimerWheel.heads {
            links = FlatArray(repeating: Link(previous: 0, next: 0, tick: 0), count: TimerWheel.heads + 64)
            for head in 0..<TimerWheel.heads {
                links[head].previous = UInt32(head)
                links[head].next = UInt32(head)
            }
        }
        if index >= links.count {
            let expected = expected + TimerWheel.heads + 2
            // Where there are more than were expected, the level was made larger since.
            let next = index < expected ? min(2 * links.count, expected) : links.count + links.count / 2
            links.grow(to: max(index + 1, next), filling: Link(previous: 0, next: 0, tick: 0))
        }
    }

    private mutating func link(_ index: Int, tick: UInt32) {
        let difference = min((tick ^ elapsed) | (TimerWheel.buckets - 1), TimerWheel.reach)
        let wheel = (UInt32(31 - difference.leadingZeroBitCount)) / TimerWheel.digitBits
        let shift = wheel &* TimerWheel.digitBits
        // What lies a full turn of the last wheel ahead waits in its farthest bucket and is placed anew from there.
        let ahead = min((tick &>> shift) &- (elapsed &>> shift), TimerWheel.buckets - 1)
        let bucket = ((elapsed &>> shift) &+ ahead) & (TimerWheel.buckets - 1)
        let head = wheel * TimerWheel.buckets + bucket
        let last = links[Int(head)].previous
        links[index] = Link(previous: last, next: head, tick: tick)
        links[Int(last)].next = UInt32(index)
        links[Int(head)].previous = UInt32(index)
        occupied[Int(wheel)] |= 1 &<< UInt64(bucket)
        count += 1
    }

    private mutating func unlink(_ index: Int) {
        let link = links[index]
        links[Int(link.previous)].next = link.next
        links[Int(link.next)].previous = link.previous
        links[index].tick = 0
        count -= 1
        // Alone between the two ends of a head: the bucket is empty now.
        if link.previous == link.next, Int(link.next) < TimerWheel.heads {
            let wheel = Int(link.next / TimerWheel.buckets)
            occupied[wheel] &= ~(1 &<< UInt64(link.next % TimerWheel.buckets))
        }
    }

    /// The bucket that comes up next, and when.
    private func nextBucket() -> (wheel: Int, bucket: Int, tick: UInt32)? {
        // One that was begun and not emptied: what was moved down from it must not hide what is due in it.
        for wheel in stride(from: TimerWheel.wheels - 1, to: 0, by: -1) where occupied[wheel] != 0 {
            let bucket = (elapsed &>> (UInt32(wheel) * TimerWheel.digitBits)) & (TimerWheel.buckets - 1)
            if occupied[wheel] &>> UInt64(bucket) & 1 != 0 { return (wheel, Int(bucket), elapsed) }
        }
        for wheel in 0..<TimerWheel.wheels where occupied[wheel] != 0 {
            let shift = UInt32(wheel) * TimerWheel.digitBits
            let present = UInt64((elapsed &>> shift) & (TimerWheel.buckets - 1))
            let word = occupied[wheel]
            let rotated = word &>> present | (present == 0 ? 0 : word &<< (64 - present))
            let ahead = UInt64(rotated.trailingZeroBitCount)
            let digit = UInt64(elapsed &>> shift) &+ ahead
            let tick = UInt32(clamping: max(digit &<< UInt64(shift), UInt64(elapsed)))
            return (wheel, Int((present &+ ahead) & UInt64(TimerWheel.buckets - 1)), tick)
        }
        return nil
    }

    /// Stops the program if the wheel's bookkeeping contradicts itself; does nothing in release builds.
    ///
    /// Complexity: O(slots) in debug builds.
    @usableFromInline
    package func checkInvariants() {
        #if DEBUG
        guard links.count >= TimerWheel.heads else { return precondition(count == 0 && occupied == .zero) }
        var found = 0
        for head in 0..<TimerWheel.heads {
            let (wheel, bucket) = (head / Int(TimerWheel.buckets), head % Int(TimerWheel.buckets))
            let isTaken = occupied[wheel] >> UInt64(bucket) & 1 == 1
            precondition(isTaken == (Int(links[head].next) != head), "a bucket is not what its bit says")
            var (index, previous) = (Int(links[head].next), head)
            while index != head {
                precondition(Int(links[index].previous) == previous && links[index].tick != 0, "a broken link")
                found += 1
                previous = index
                index = Int(links[index].next)
            }
        }
        precondition(found == count, "the wheel has lost count")
        #endif
    }
}
