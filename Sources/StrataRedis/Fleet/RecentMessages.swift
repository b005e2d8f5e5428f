internal import Strata

/// The messages that were heard within some time: in a cluster the link of each node tells of a message.
struct RecentMessages: Sendable {
    private struct Heard: Sendable {
        let hash: UInt64
        let at: MonotonicInstant
    }

    private let window: Int64
    private let limit: Int
    private var hashes: [UInt64: MonotonicInstant] = [:]
    /// In the order in which they were heard, as a ring.
    private var order: [Heard] = []
    private var place = 0
    private var lastForgotten = MonotonicInstant.distantPast

    /// - Parameters:
    ///   - window: For how long a message is remembered.
    ///   - limit: How many are remembered at most.
    init(within window: Duration, upTo limit: Int) {
        self.window = window.saturatedNanoseconds
        self.limit = limit
    }

    /// Whether a message about a part was not heard within the window; it is remembered from now on.
    mutating func isNews(_ message: [UInt8], _ part: KeyspacePart? = nil, at now: MonotonicInstant) -> Bool {
        let hash = XXH64.hash(message, seed: UInt64(part?.number ?? 0))
        if let last = hashes[hash], last.nanoseconds(to: now) <= window { return false }
        hashes[hash] = now
        if order.count < limit {
            order.append(Heard(hash: hash, at: now))
            return true
        }
        let oldest = order[place]
        // It may have been heard again since.
        if hashes[oldest.hash] == oldest.at {
            hashes[oldest.hash] = nil
            lastForgotten = oldest.at
        }
        order[place] = Heard(hash: hash, at: now)
        place = (place + 1) % limit
        return true
    }

    /// Whether all messages of the window are remembered: one that is news was not heard before.
    func remembersAll(at now: MonotonicInstant) -> Bool {
        lastForgotten == .distantPast || lastForgotten.nanoseconds(to: now) > window
    }
}
