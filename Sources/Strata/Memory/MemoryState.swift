/// The state that only the writer of a memory level touches, for keys and values of any type: the policy, the timer
/// wheel, the free slots and the counts.
@usableFromInline
struct MemoryState: ~Copyable, Sendable {
    @usableFromInline var policy: EvictionPolicy
    @usableFromInline var wheel: TimerWheel
    /// Slots that were used and are free, last freed last.
    @usableFromInline var free = SlotList()
    /// The highest slot that was ever used; slot 0 is never used.
    @usableFromInline var lastSlot: UInt32 = 0
    /// Slots that the policy or the wheel has just taken out; empty between operations.
    @usableFromInline var victims = SlotList()
    @usableFromInline var counts = MemoryStatistics()
    /// When the housekeeper comes next.
    @usableFromInline var visit: Int64 = .max
    /// How many entries had made room when the budget was last asked for more.
    var crowdedAt = 0
    #if DEBUG
    @usableFromInline var stepsUntilCheck = 0
    #endif
    /// When the level was made, for the ages of entries.
    @usableFromInline let start: MonotonicInstant
    /// The metadata of the last entry without tags, which later ones share.
    @usableFromInline var lastLabel: MemoryEntryTags?
    /// Why entries have left lately.
    @usableFromInline var departures: RecentDepartures
    /// Counts hits while callers ask which entries are hit most.
    private var tally: HitTally?
    /// Up to which position each row of the readers was looked through.
    var drained: [UInt64]

    init(policy: consuming EvictionPolicy, expected: Int, now: MonotonicInstant, rows: Int) {
        self.policy = policy
        wheel = TimerWheel(now: now.nanoseconds, expected: expected)
        start = now
        drained = Array(repeating: 0, count: rows)
        departures = RecentDepartures(expected: expected)
    }

    /// The metadata of entries without tags; `nil` where there is none.
    @inlinable
    mutating func label(asOf: UInt64) -> MemoryEntryTags? {
        guard asOf != 0 else { return nil }
        if let lastLabel, lastLabel.asOf == asOf { return lastLabel }
        lastLabel = MemoryEntryTags(tags: [], seal: nil, asOf: asOf)
        return lastLabel
    }

    /// An empty slot.
    @inlinable
    mutating func takeSlot() -> UInt32 {
        if let slot = free.popLast() { return slot }
        lastSlot += 1
        return lastSlot
    }

    /// Passes the readers' noted hits to the policy, apart from those that were overwritten.
    @usableFromInline
    mutating func drain(_ readers: borrowing ReaderRows) {
        for number in 0..<readers.rowsInUse {
            let row = readers.row(number)
            let position = row.position
            guard position != drained[number] else { continue }
            let pending = min(position &- drained[number], UInt64(ReaderRows.ringSize))
            drained[number] = position
            unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Int(pending)) { slots in
                for place in 0..<Int(pending) {
                    unsafe slots.initializeElement(at: place, to: row.noted(at: position &- pending &+ UInt64(place)))
                }
                unsafe policy.recordHits(UnsafeBufferPointer(slots))
                if tally != nil { unsafe count(UnsafeBufferPointer(slots)) }
            }
        }
        if tally?.isOver == true { tally = nil }
    }

    private mutating func count(_ slots: some Collection<UInt32>) {
        var counting = tally.take()
        counting?.add(slots) { policy.hash(of: $0) }
        tally = counting
    }

    /// The slots of the entries that were hit most since the last question; by the policy's order where that is not
    /// known.
    ///
    /// Hits are counted from the first question until the questions stop.
    ///
    /// Complexity: O(`most`).
    mutating func mostHit(_ most: Int) -> [UInt32] {
        var counting = tally.take() ?? HitTally(capacity: 256)
        let counted = counting.ranked { policy.hash(of: $0) }.filter { policy.contains($0) }
        tally = counting
        let known = Set(counted)
        let rest = policy.slots(.hottestFirst, most: most).filter { !known.contains($0) }
        return Array((counted + rest).prefix(most))
    }

    /// Before this instant, in nanoseconds, nothing is due.
    @inlinable
    var nextLook: Int64 { wheel.count == 0 ? .max : wheel.nextLook }

    /// Whether so many entries had to make room since the last time that more room should be asked for.
    @usableFromInline
    var isCrowded: Bool {
        mutating get {
            guard counts.evictions &- crowdedAt > policy.count / 64 else { return false }
            crowdedAt = counts.evictions
            return true
        }
    }

    /// An instant in seconds since the level was made (of 2³⁰ ns), which is how entries remember when they were stored.
    @inlinable
    func stamp(at now: MonotonicInstant) -> UInt32 {
        UInt32(clamping: start.nanoseconds(to: now) >> 30)
    }

    func age(ofStamp stamp: UInt32, at now: MonotonicInstant) -> Duration {
        .seconds(max(start.nanoseconds(to: now) / 1_000_000_000 - Int64(stamp) << 30 / 1_000_000_000, 0))
    }

    /// How old an entry with this stamp is at the least.
    func leastAge(ofStamp stamp: UInt32, at now: MonotonicInstant) -> Duration {
        .nanoseconds(max(start.nanoseconds(to: now) - (Int64(stamp) + 1) << 30, 0))
    }

    /// How old an entry with this stamp is at the most.
    func mostAge(ofStamp stamp: UInt32, at now: MonotonicInstant) -> Duration {
        .nanoseconds(max(start.nanoseconds(to: now) - Int64(stamp) << 30, 0))
    }

    /// Stops the program if the bookkeeping contradicts itself; does nothing in release builds.
    ///
    /// O(slots), so it runs only now and then when there are many.
    @inlinable
    mutating func check() {
        #if DEBUG
        stepsUntilCheck -= 1
        guard stepsUntilCheck <= 0 else { return }
        stepsUntilCheck = Int(lastSlot) / 8
        checkNow()
        #endif
    }

    #if DEBUG
    @usableFromInline
    func checkNow() {
        policy.checkInvariants()
        wheel.checkInvariants()
        precondition(policy.count + free.count == Int(lastSlot), "a slot is neither free nor taken")
        for place in 0..<free.count {
            precondition(!policy.contains(free[place]) && !wheel.contains(free[place]), "a free slot is taken")
        }
        precondition(victims.count == 0, "a victim was forgotten")
    }
    #endif

    /// Removes all slots.
    ///
    /// Keeps what the policy has learnt about the workload.
    mutating func removeAll() {
        policy.removeAll()
        wheel.removeAll()
        free = SlotList()
        lastSlot = 0
        visit = .max
    }
}
