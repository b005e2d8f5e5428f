internal import Strata

/// What a connection knows of how well it is served: by its server, and by its own thread.
///
/// A call's time as its task sees it says little of the server: on a busy machine most of it may be spent on the way to
/// a processor. So the thread takes down when bytes were sent and when replies were read, and whether it was late
/// itself.
struct ConnectionHealth: Sendable {
    /// How often the thread looks at a connection that is owed replies, in nanoseconds.
    static let tick: Int64 = 50_000_000
    /// By how much it may be late for that.
    static let tolerance: Int64 = 50_000_000
    /// So many bytes are a sign of life although no reply is whole: a large one is on its way.
    ///
    /// Fewer are none, or a server that sends a byte a second would never be given up.
    static let progress = 16 << 10

    /// When a call was last answered in time, or when the first reply came to be owed if that is later.
    private(set) var lastSign = MonotonicInstant.distantPast
    /// When the thread last looked, and when it last came late.
    private(set) var lastLook = MonotonicInstant.distantPast
    private(set) var lateAt = MonotonicInstant.distantPast
    private var wereOwed = false
    /// When a reply was last read that the server had taken long for.
    private(set) var slowReplyAt = MonotonicInstant.distantPast
    private var arrivedSinceSign = 0
    /// How much had been sent when the system first refused to take more; `nil` while it takes all.
    private var backlog: UInt64?
    /// Up to where the stream of bytes was handed to the system, and when; the oldest first.
    private var sendings = RingBuffer<(end: UInt64, at: MonotonicInstant)>(capacity: 8)

    /// There was a sign that the connection is of use.
    @inline(__always)
    mutating func begin(at now: MonotonicInstant) {
        lastSign = now
        arrivedSinceSign = 0
    }

    /// Bytes were read.
    mutating func arrived(_ bytes: Int, at now: MonotonicInstant, wereOwed: Bool) {
        look(at: now, areOwed: wereOwed)
        arrivedSinceSign += bytes
        if arrivedSinceSign >= Self.progress { begin(at: now) }
    }

    /// So much has been sent by now.
    ///
    /// What the system takes after it has refused some is a sign of life, too: the server reads a large value, or many.
    /// One that stands still lets no more through than fits into the buffers on the way, and those fill at the speed of
    /// the network.
    @inline(__always)
    mutating func progressed(to sent: UInt64, isBacked: Bool, at now: MonotonicInstant) {
        if let mark = backlog, sent >= mark + UInt64(Self.progress) {
            begin(at: now)
            backlog = nil
        }
        backlog = isBacked ? backlog ?? sent : nil
    }

    /// The thread looks at the connection.
    @inline(__always)
    mutating func look(at now: MonotonicInstant, areOwed: Bool) {
        if wereOwed, lastLook.nanoseconds(to: now) > Self.tick + Self.tolerance { lateAt = now }
        lastLook = now
        wereOwed = areOwed
    }

    /// What the server has answered is not read for a moment, and nothing is sent: that is not its fault.
    mutating func held(at now: MonotonicInstant) {
        lateAt = now
        begin(at: now)
    }

    mutating func sent(through end: UInt64, at now: MonotonicInstant) {
        sendings.append((end, now))
    }

    /// The oldest command that is owed a reply, which begins at `start`, is being answered.
    mutating func answering(_ start: UInt64, at now: MonotonicInstant, slowAfter: Int64) {
        while let first = sendings.first, first.end <= start { _ = sendings.popFirst() }
        guard let sentAt = sendings.first?.at, lateAt < sentAt else { return }
        if sentAt.nanoseconds(to: now) >= slowAfter { slowReplyAt = now }
    }

    /// When the command that begins at `start` was handed to the system.
    ///
    /// O(log(batches on their way)).
    func timeOfSending(_ start: UInt64) -> MonotonicInstant? {
        var (low, high) = (0, sendings.count)
        while low < high {
            let middle = (low + high) / 2
            if sendings[middle].end > start { high = middle } else { low = middle + 1 }
        }
        return low < sendings.count ? sendings[low].at : nil
    }

    /// The connection is gone; what is known of this thread stays.
    mutating func reset() {
        sendings.removeAll()
        arrivedSinceSign = 0
        backlog = nil
        wereOwed = false
    }
}
