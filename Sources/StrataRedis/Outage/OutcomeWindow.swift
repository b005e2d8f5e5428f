internal import Strata
internal import Synchronization

/// The outcomes of recent calls.
///
/// The window has sixteen slots of time. The first count in a new slot resets it. There is no lock: a count that two
/// threads lose to each other at the beginning of a slot changes no decision.
///
/// Proof of `Sendable`: the pointer is set once, the counters are atomics, the memory lives as long as the window.
final class OutcomeWindow: Sendable {
    /// What is counted.
    struct Counts: Equatable, Sendable {
        var total = 0
        var failed = 0
        var slow = 0
    }

    enum Outcome: Int, Sendable {
        case good
        case failed
        case slow
    }

    static let slots: Int64 = 16
    private static let kinds = 3
    private static let countBits: UInt64 = 32

    /// One word for each slot and kind of outcome: the low half of the slot's number, then the count.
    nonisolated(unsafe) private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let length: Atomic<Int64>

    /// - Parameter window: How long it is, in nanoseconds.
    init(window: Int64) {
        length = Atomic(Self.slotLength(window))
        let count = Int(Self.slots) * Self.kinds
        words = .allocate(capacity: count)
        for index in 0..<count { (words + index).initialize(to: Atomic<UInt64>(0)) }
    }

    deinit {
        words.deinitialize(count: Int(Self.slots) * Self.kinds)
        words.deallocate()
    }

    private static func slotLength(_ window: Int64) -> Int64 { max(1, window / slots) }

    /// Changes how long the window is, in nanoseconds; what was counted is forgotten with it.
    func resize(_ window: Int64) {
        let slotLength = Self.slotLength(window)
        guard slotLength != length.load(ordering: .relaxed) else { return }
        length.store(slotLength, ordering: .relaxed)
        clear()
    }

    /// Counts a call.
    func count(_ outcome: Outcome, at now: MonotonicInstant) {
        let number = now.nanoseconds / length.load(ordering: .relaxed)
        let word = index(number, outcome)
        let mark = Self.mark(number)
        while true {
            let current = words[word].load(ordering: .relaxed)
            if current >> Self.countBits == mark {
                words[word].wrappingAdd(1, ordering: .relaxed)
                return
            }
            let (exchanged, _) = words[word]
                .compareExchange(expected: current, desired: mark << Self.countBits | 1, ordering: .relaxed)
            if exchanged { return }
        }
    }

    /// The counts within the window that ends now.
    func counts(at now: MonotonicInstant) -> Counts {
        let number = now.nanoseconds / length.load(ordering: .relaxed)
        var counts = Counts()
        for slot in max(0, number - Self.slots + 1)...max(0, number) {
            let (good, failed, slow) = (value(slot, .good), value(slot, .failed), value(slot, .slow))
            counts.total += good + failed + slow
            counts.failed += failed
            counts.slow += slow
        }
        return counts
    }

    /// Forgets everything.
    func clear() {
        for index in 0..<Int(Self.slots) * Self.kinds { words[index].store(0, ordering: .relaxed) }
    }

    private func value(_ slot: Int64, _ outcome: Outcome) -> Int {
        let word = words[index(slot, outcome)].load(ordering: .relaxed)
        return word >> Self.countBits == Self.mark(slot) ? Int(word & 0xffff_ffff) : 0
    }

    private func index(_ slot: Int64, _ outcome: Outcome) -> Int {
        Int(slot & (Self.slots - 1)) * Self.kinds + outcome.rawValue
    }

    /// Never zero, which marks an empty word.
    private static func mark(_ slot: Int64) -> UInt64 {
        UInt64(truncatingIfNeeded: slot) & 0x7fff_ffff | 0x8000_0000
    }
}
