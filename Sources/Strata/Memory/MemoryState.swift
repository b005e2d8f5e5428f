/// What only the writer of a memory level touches, whatever keys and values are: the policy, the timer wheel, the free
/// slots and the counts.
@usableFromInline
struct MemoryState: ~Copyable, Sendable {
    @usableFromInline var policy: EvictionPolicy
    @usableFromInline var wheel: TimerWheel
    /// Slots that were used and are free, last freed last.
    @usableFromInline var free: [UInt32] = []
    /// The highest slot that was ever used; slot 0 is never used.
    @usableFromInline var lastSlot: UInt32 = 0
    /// Slots that the policy or the wheel has just taken out; empty between operations.
    @usableFromInline var victims: [UInt32] = []
    @usableFromInline var counts = MemoryStatistics()
    /// Up to which position each row of the readers was looked through.
    var drained: [UInt64]

    init(policy: consuming EvictionPolicy, now: MonotonicInstant, rows: Int) {
        self.policy = policy
        wheel = TimerWheel(now: now.nanoseconds)
        drained = Array(repeating: 0, count: rows)
        victims.reserveCapacity(64)
    }

    /// A slot that holds nothing.
    @inlinable
    mutating func takeSlot() -> UInt32 {
        if let slot = free.popLast() { return slot }
        lastSlot += 1
        return lastSlot
    }

    /// Empties the list of victims, which has one or none as a rule: that costs less than `removeAll`.
    @inlinable
    mutating func forgetVictims() {
        while victims.popLast() != nil {}
    }

    /// Tells the policy of the hits that readers have noted and nobody has overwritten.
    @usableFromInline
    mutating func drain(_ readers: borrowing ReaderRows) {
        for number in 0..<readers.rowCount {
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
            }
        }
    }

    /// Before this instant, in nanoseconds, nothing is due.
    @inlinable
    var nextLook: Int64 { wheel.count == 0 ? .max : wheel.nextLook }

    /// Takes all slots out.
    ///
    /// What was learnt about the workload stays.
    mutating func removeAll() {
        policy.removeAll()
        wheel.removeAll()
        free.removeAll()
        lastSlot = 0
    }
}
