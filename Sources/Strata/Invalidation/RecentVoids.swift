internal import Synchronization

/// What has voided keys lately, for the accounts of reads.
///
/// Nothing is decided by it. A table of 512 words, 4 KiB, where a later key takes the place of an earlier one. A word
/// holds the upper bits of its key's hash, how often everything was voided before (modulo 256), and the cause.
///
/// Proof of `Sendable`: the pointer is set once, the words are atomics, the memory lives as long as the table.
@safe
final class RecentVoids: Sendable {
    private static let size = 512
    private static let hashMask: UInt64 = ~0xffff
    private static let countShift: UInt64 = 8

    private nonisolated(unsafe) let words: UnsafeMutablePointer<Atomic<UInt64>>
    /// How often everything was voided, and by what the last time.
    private let all = Atomic<UInt64>(0)

    init() {
        unsafe words = .allocate(capacity: Self.size)
        for place in 0..<Self.size { unsafe (words + place).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe words.deinitialize(count: Self.size)
        unsafe words.deallocate()
    }

    /// Notes what has voided a key with tickets.
    func note(_ hash: UInt64, _ cause: VoidCause) {
        let count = all.load(ordering: .relaxed) & ~0xff
        let word = hash & Self.hashMask | count & 0xff00 | UInt64(cause.rawValue)
        unsafe words[place(of: hash)].store(word, ordering: .relaxed)
    }

    /// Notes what has voided all keys.
    func noteAll(_ cause: VoidCause) {
        // Two at a time lose a count, and with it a more exact cause.
        let count = all.load(ordering: .relaxed) & ~0xff
        all.store(count &+ 0x100 | UInt64(cause.rawValue), ordering: .relaxed)
    }

    /// How often everything was voided.
    var countOfAll: UInt64 { all.load(ordering: .relaxed) >> Self.countShift }

    /// What has voided everything last; `nil` for nothing.
    var lastOfAll: VoidCause? { VoidCause(rawValue: UInt8(truncatingIfNeeded: all.load(ordering: .relaxed))) }

    /// What has voided a key; `nil` when that is not known any more.
    func cause(of hash: UInt64) -> VoidCause? {
        let word = unsafe words[place(of: hash)].load(ordering: .relaxed)
        let all = all.load(ordering: .relaxed)
        guard word & Self.hashMask == hash & Self.hashMask, word & 0xff00 == all & 0xff00,
            let cause = VoidCause(rawValue: UInt8(truncatingIfNeeded: word))
        else { return VoidCause(rawValue: UInt8(truncatingIfNeeded: all)) }
        return cause
    }

    private func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (Self.size - 1) }
}
