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
        hear(message, part, at: now).isNews
    }

    /// Takes down that a message about a part was heard.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - part: The part.
    ///   - now: The time.
    ///   - pause: A message that is heard again after this time is no copy; `nil` for the window.
    /// - Returns: Whether it is no copy, and whether it is certain that it was not heard before.
    mutating func hear(
        _ message: [UInt8],
        _ part: KeyspacePart?,
        at now: MonotonicInstant,
        unlessRepeatedAfter pause: Duration? = nil
    ) -> (isNews: Bool, isFirst: Bool) {
        let hash = XXH64.hash(message, seed: UInt64(part?.number ?? 0))
        let ago = hashes[hash].map { $0.nanoseconds(to: now) }
        if let ago, ago <= min(window, pause?.saturatedNanoseconds ?? window) { return (false, false) }
        let isFirst = (ago.map { $0 > window } ?? true) && remembersAll(at: now)
        remember(hash, at: now)
        return (true, isFirst)
    }

    private mutating func remember(_ hash: UInt64, at now: MonotonicInstant) {
        hashes[hash] = now
        if order.count < limit { return order.append(Heard(hash: hash, at: now)) }
        let oldest = order[place]
        // It may have been heard again since.
        if hashes[oldest.hash] == oldest.at {
            hashes[oldest.hash] = nil
            lastForgotten = oldest.at
        }
        order[place] = Heard(hash: hash, at: now)
        place = (place + 1) % limit
    }

    /// Whether all messages of the window are remembered: one that is news was not heard before.
    func remembersAll(at now: MonotonicInstant) -> Bool {
        lastForgotten == .distantPast || lastForgotten.nanoseconds(to: now) > window
    }
}
