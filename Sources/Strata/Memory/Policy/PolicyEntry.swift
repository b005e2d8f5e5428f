/// The queue of the policy in which an entry stands.
@usableFromInline
enum PolicyQueue: UInt8, BitwiseCopyable, Sendable {
    /// Not resident: the slot is free or has no owner.
    case none = 0
    /// New entries, before they had to prove anything.
    case window = 1
    /// Entries of the main region that are next to be evicted.
    case probation = 2
    /// Entries of the main region that were asked for again.
    case protected = 3
}

/// What the policy knows of the entry in one slot: 16 bytes, four of them to a line of the processor's cache.
@usableFromInline
struct PolicyEntry: BitwiseCopyable, Sendable {
    /// The neighbour nearer to the front of the queue, as an index into the policy's entries.
    @usableFromInline var previous: UInt32
    /// The neighbour nearer to the back of the queue.
    @usableFromInline var next: UInt32
    /// The seeded hash of the key, cut to 32 bits.
    @usableFromInline var hash: UInt32
    /// How often the key was asked for, as of `epoch`, and whether shortly before; see ``aged(_:from:to:)``.
    @usableFromInline var frequency: UInt8
    @usableFromInline var epoch: UInt8
    /// When the entry last moved to the front, in ticks of the policy's clock of moves.
    @usableFromInline var stamp: UInt8
    @usableFromInline var queue: PolicyQueue

    @inlinable
    init(linkedToItself index: UInt32) {
        previous = index
        next = index
        hash = 0
        frequency = 0
        epoch = 0
        stamp = 0
        queue = .none
    }
}

/// A count that is halved once for every epoch between `epoch` and `now`; the mark ``FrequencySketch/returned``
/// stays.
///
/// Epochs are counted modulo 256: after 256 epochs without a touch a count would look fresh again, which costs
/// one wrong decision at most.
@inlinable
@inline(__always)
func aged(_ frequency: UInt8, from epoch: UInt8, to now: UInt8) -> UInt8 {
    frequency & FrequencySketch.returned | (frequency & FrequencySketch.maximum) &>> min(now &- epoch, 7)
}

/// A count after another request, with the mark that there was one before.
@inlinable
@inline(__always)
func increased(_ frequency: UInt8, from epoch: UInt8, to now: UInt8) -> UInt8 {
    let count = (frequency & FrequencySketch.maximum) &>> min(now &- epoch, 7)
    return min(count &+ 1, FrequencySketch.maximum) | FrequencySketch.returned
}
