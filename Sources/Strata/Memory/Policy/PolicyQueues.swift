/// How many entries stand in each queue and what they weigh, by the raw value of the queue.
@usableFromInline
struct PolicyQueues: ~Copyable, Sendable {
    @usableFromInline
    struct Sum: BitwiseCopyable, Equatable, Sendable {
        @usableFromInline var count = 0
        @usableFromInline var weight = 0

        @inlinable
        init() {}
    }

    @usableFromInline var sums = FlatArray(repeating: Sum(), count: 4)

    @inlinable
    init() {}

    @inlinable
    subscript(queue: PolicyQueue) -> Sum {
        @inline(__always)
        get { sums[Int(queue.rawValue)] }
        @inline(__always)
        _modify { yield &sums[Int(queue.rawValue)] }
    }

    @inlinable
    @inline(__always)
    mutating func add(_ count: Int, weighing weight: Int, to queue: PolicyQueue) {
        self[queue].count &+= count
        self[queue].weight &+= weight
    }

    @inlinable var windowWeight: Int { self[.window].weight }
    @inlinable var protectedWeight: Int { self[.protected].weight }
    @inlinable var hasProbation: Bool { self[.probation].count > 0 }
    @inlinable var mainIsEmpty: Bool { self[.probation].count &+ self[.protected].count == 0 }
}

extension EvictionPolicy {
    /// Takes an entry out of its queue and leaves its `queue` as it was.
    @inlinable
    @inline(__always)
    mutating func unlink(_ index: Int) {
        let entry = entries[index]
        entries[Int(entry.previous)].next = entry.next
        entries[Int(entry.next)].previous = entry.previous
    }

    /// Puts an entry that stands in no queue at the front of one.
    ///
    /// The head of a queue is the entry at its raw value.
    @inlinable
    @inline(__always)
    mutating func link(_ index: Int, atFrontOf queue: PolicyQueue) {
        let head = Int(queue.rawValue)
        let position = UInt32(truncatingIfNeeded: index)
        let first = entries[head].next
        entries[index].previous = UInt32(truncatingIfNeeded: head)
        entries[index].next = first
        entries[index].stamp = moveClock
        entries[index].queue = queue
        entries[Int(first)].previous = position
        entries[head].next = position
        moves &+= 1
    }

    /// Moves an entry to the front of the queue in which it stands.
    @inlinable
    @inline(__always)
    mutating func refresh(_ index: Int, in queue: PolicyQueue) {
        unlink(index)
        link(index, atFrontOf: queue)
    }

    /// Moves an entry from its queue to the front of another one.
    @inlinable
    @inline(__always)
    mutating func move(_ index: Int, to queue: PolicyQueue) {
        let weight = weight(at: index)
        queues.add(-1, weighing: -weight, to: entries[index].queue)
        unlink(index)
        link(index, atFrontOf: queue)
        queues.add(1, weighing: weight, to: queue)
    }

    /// The entry at the back of the queue; the head itself if the queue is empty.
    @inlinable
    @inline(__always)
    func last(of queue: PolicyQueue) -> Int {
        Int(entries[Int(queue.rawValue)].previous)
    }

    /// Ticks about 64 times while as many entries move to a front as there are entries.
    @inlinable
    @inline(__always)
    var moveClock: UInt8 { UInt8(truncatingIfNeeded: moves &>> moveShift) }

    /// Whether the entry moved to the front so lately that it is among the first sixteenth of its queue anyway.
    ///
    /// The hottest entries are hit again and again in a short time. To leave them where they are saves most moves,
    /// and each move saved is three cache misses of the processor.
    @inlinable
    @inline(__always)
    func movedLately(_ entry: PolicyEntry) -> Bool {
        moveShift != 0 && moveClock &- entry.stamp < 4
    }
}
