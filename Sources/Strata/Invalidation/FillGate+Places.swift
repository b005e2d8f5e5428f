internal import Synchronization

// Where a key's counter is. The table consists of rows of eight words, one line of the processor's cache each. A key
// may have its counter in one row of each region: the first region is the table at the beginning, and each further
// region is as large as all before it together. A word has a tag of twenty bits, taken from the key, so a change finds
// the counter of its key among the few words of its rows and passes by all others.
//
// A change frees the word, since all its tickets are void. When a row is full, its last word is shared by the key that
// had it and by all keys that find no room; a change of any of these keys voids it. When many keys share words, the
// table grows.
//
// In a table that may not grow any more, words remain of keys that were read once and never changed. They go to other
// keys when they were not used for two generations: a hit notes once a generation that a word is in use. A generation
// ends when the number of keys that got a word reaches an eighth of the table. That is twice as many as the levels
// above hold, so a key whose word was not used in that time has left them.
extension FillGate {
    static let row = 1 << rowShift
    @usableFromInline
    static let rowShift = 3
    private static let tagMask: UInt64 = (1 << 20 - 1) << tagShift
    /// A word for all keys of a row that have none of their own.
    private static let sharedTag: UInt64 = 1 << tagShift
    private static let stateMask: UInt64 = countMask | prepared

    /// The word of a key, which gets one if it has none, and the content of the word.
    func place(of fingerprint: UInt64) -> (slot: Int, word: UInt64) {
        let hash = rowed(Self.mixed(fingerprint), fingerprint)
        let tag = Self.tag(hash)
        while true {
            let limit = limit.load(ordering: .acquiring)
            let isFull = limit >= most
            var free: (slot: Int, word: UInt64)?
            var common: (slot: Int, word: UInt64)?
            let now = generation.load(ordering: .relaxed)
            var region = Region(smallest, limit)
            repeat {
                let first = region.row(of: hash)
                for slot in first..<first + Self.row {
                    let word = unsafe counters[slot].load(ordering: .acquiring)
                    let found = word & Self.tagMask
                    if found == tag {
                        if word >> Self.generationShift != now { use(slot, word) }
                        return (slot, word)
                    }
                    if found == 0 || isFull && Self.isStale(word, now) { free = (slot, word) }
                }
                common = (first + Self.row - 1, unsafe counters[first + Self.row - 1].load(ordering: .acquiring))
            } while region.advance()
            if let (slot, word) = free {
                // Every ticket of the key that had the word is void.
                let count = word & Self.tagMask == 0 ? word & Self.countMask : Self.count(after: word)
                let claimed = now << Self.generationShift | tag | count
                guard exchange(word, for: claimed, at: slot) else { continue }
                countClaim(limit)
                return (slot, claimed)
            }
            if grow(from: limit) { continue }
            guard let (slot, word) = common else { continue }
            let joint = now << Self.generationShift | Self.sharedTag | word & Self.stateMask
            guard word == joint || exchange(word, for: joint, at: slot) else { continue }
            return (slot, joint)
        }
    }

    /// Voids every ticket of a key.
    ///
    /// O(1). Writes nothing when the key has no ticket.
    public func void(_ fingerprint: UInt64) {
        void(fingerprint, because: .removed)
    }

    /// Voids every ticket of a key, and notes by what.
    package func void(_ fingerprint: UInt64, because cause: VoidCause) {
        if void(fingerprint, but: nil) { recentVoids.note(Self.mixed(fingerprint), cause) }
    }

    /// What has voided the tickets of a key, as far as that is known; for accounts of reads.
    package func voidCause(of fingerprint: UInt64) -> VoidCause? { recentVoids.cause(of: Self.mixed(fingerprint)) }

    /// Voids every ticket of a key, except those of one word.
    ///
    /// - Returns: Whether there may have been one.
    @discardableResult
    func void(_ fingerprint: UInt64, but exempt: Int?) -> Bool {
        voidLog.note(fingerprint)
        let hash = rowed(Self.mixed(fingerprint), fingerprint)
        let tag = Self.tag(hash)
        var isVoided = false
        var region = Region(smallest, limit.load(ordering: .acquiring))
        repeat {
            let first = region.row(of: hash)
            for slot in first..<first + Self.row where slot != exempt {
                let isChanged = advance(slot) { $0 & Self.tagMask == tag || $0 & Self.tagMask == Self.sharedTag }
                isVoided = isVoided || isChanged
            }
        } while region.advance()
        return isVoided
    }

    /// Voids every ticket that was ever taken.
    ///
    /// O(size of the table).
    public func voidAll() { voidAll(because: .cleared) }

    /// Voids every ticket that was ever taken, and notes by what.
    ///
    /// O(size of the table).
    package func voidAll(because cause: VoidCause) {
        recentVoids.noteAll(cause)
        voidLog.noteAll()
        for slot in 0..<limit.load(ordering: .acquiring) { advance(slot) { $0 & Self.tagMask != 0 } }
    }

    /// Voids every ticket of a part's keys.
    ///
    /// O(size of the table).
    package func voidAll(ofPart part: Int, because cause: VoidCause = .cleared) {
        guard partMask > 0 else { return voidAll(because: cause) }
        recentVoids.noteAll(cause)
        voidLog.noteAll()
        let rows = limit.load(ordering: .acquiring) / Self.row
        for row in stride(from: part & partMask, to: rows, by: partMask + 1) {
            for slot in row * Self.row..<(row + 1) * Self.row { advance(slot) { $0 & Self.tagMask != 0 } }
        }
    }

    /// Voids the tickets of a word and frees it, if `isMeant` accepts the word.
    ///
    /// - Returns: Whether `isMeant` has accepted it.
    @discardableResult
    private func advance(_ slot: Int, where isMeant: (UInt64) -> Bool) -> Bool {
        var word = unsafe counters[slot].load(ordering: .acquiring)
        while isMeant(word) {
            if exchange(word, for: Self.count(after: word), at: slot) { return true }
            word = unsafe counters[slot].load(ordering: .acquiring)
        }
        return false
    }

    /// The count after every live ticket, including a prepared one.
    static func count(after word: UInt64) -> UInt64 {
        (word &+ (word & prepared != 0 ? 2 : 1)) & countMask
    }

    func exchange(_ expected: UInt64, for desired: UInt64, at slot: Int) -> Bool {
        unsafe counters[slot].compareExchange(expected: expected, desired: desired, ordering: .acquiringAndReleasing)
            .exchanged
    }

    /// Notes that a word is in use, at most once a generation for each word.
    @usableFromInline
    func use(_ slot: Int, _ word: UInt64) {
        let now = generation.load(ordering: .relaxed)
        // When that fails, another thread has noted it, or the word has changed.
        _ = exchange(word, for: word & ~(7 << Self.generationShift) | now << Self.generationShift, at: slot)
    }

    /// Tells the gate how many entries the level above can hold; `nil` when it cannot tell.
    func reserve(for entries: Int?) {
        let words = entries.map { min(max($0, 1), Self.largest / 16) * 16 } ?? Self.largest
        ceiling.wrappingAdd(words, ordering: .relaxed)
    }

    // MARK: Inside

    /// The hash with the key's part in the bits that choose the row; all regions begin with a row of the first part.
    private func rowed(_ hash: UInt64, _ fingerprint: UInt64) -> UInt64 {
        let mask = UInt64(partMask) << UInt64(Self.rowShift)
        return hash & ~mask | UInt64(part(of: fingerprint)) << UInt64(Self.rowShift)
    }

    /// How many words the table may have.
    private var most: Int {
        let wanted = ceiling.load(ordering: .relaxed)
        return wanted <= 0 ? Self.largest : min(Self.largest, max(smallest, wanted))
    }

    /// The regions of the table, from the first.
    private struct Region {
        private var start = 0
        private var size: Int
        private let limit: Int

        init(_ smallest: Int, _ limit: Int) {
            size = smallest
            self.limit = limit
        }

        /// The first word of a key's row.
        func row(of hash: UInt64) -> Int {
            start + Int(truncatingIfNeeded: hash) & (size - 1) & ~(FillGate.row - 1)
        }

        /// Goes on to the next region; false when there is none.
        mutating func advance() -> Bool {
            if start > 0 { size *= 2 }
            start = size
            return start < limit
        }
    }

    private static func isStale(_ word: UInt64, _ now: UInt64) -> Bool {
        (now &- word >> generationShift) & 7 >= 2
    }

    private func countClaim(_ limit: Int) {
        guard claims.wrappingAdd(1, ordering: .relaxed).newValue >= limit / 8 else { return }
        claims.store(0, ordering: .relaxed)
        shared.store(0, ordering: .relaxed)
        generation.store((generation.load(ordering: .relaxed) &+ 1) & 7, ordering: .relaxed)
    }

    /// Doubles the table when many keys have found no room in this generation.
    private func grow(from limit: Int) -> Bool {
        guard shared.wrappingAdd(1, ordering: .relaxed).newValue > limit / 1024, limit < most else {
            return false
        }
        let isGrown = self.limit.compareExchange(
            expected: limit,
            desired: limit * 2,
            ordering: .acquiringAndReleasing
        )
        if isGrown.exchanged { shared.store(0, ordering: .relaxed) }
        return true
    }

    private static func tag(_ hash: UInt64) -> UInt64 {
        // Zero is a free word, one a shared one.
        max(2, hash >> 44) << tagShift
    }

    /// Spreads a fingerprint of any origin over all bits.
    ///
    /// The finalizer of SplitMix64 (Steele, Lea and Flood,
    /// "Fast Splittable Pseudorandom Number Generators", 2014).
    static func mixed(_ fingerprint: UInt64) -> UInt64 {
        var hash = fingerprint &+ 0x9e37_79b9_7f4a_7c15
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }
}
