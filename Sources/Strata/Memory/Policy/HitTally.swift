/// Which slots are hit most: counts only while callers ask.
///
/// The frequent-items algorithm of Misra and Gries (1982): a slot that has more than 1/(`capacity` + 1) of all hits is
/// among those that are counted, and no count is too high. Each question halves the counts, so that what was hit once
/// fades.
struct HitTally: Sendable {
    /// How many slots are counted at most.
    private let capacity: Int
    /// The hits of a slot, and the hash of the key that it had at the first.
    private var counts: [UInt32: (hits: UInt32, hash: UInt32)] = [:]
    /// How many hits are counted until a caller has to ask again.
    private var left: Int

    init(capacity: Int, hits: Int = 1 << 22) {
        self.capacity = capacity
        left = hits
    }

    /// Whether the last question is so long ago that counting is no use.
    var isOver: Bool { left <= 0 }

    /// Counts hits.
    ///
    /// Complexity: O(slots) in the mean.
    ///
    /// - Parameters:
    ///   - slots: What was hit.
    ///   - hash: The hash of the key in a slot: slots are used again.
    mutating func add(_ slots: some Collection<UInt32>, hash: (UInt32) -> UInt32) {
        left -= slots.count
        for slot in slots {
            if let place = counts.index(forKey: slot) {
                counts.values[place].hits &+= 1
            } else if counts.count < capacity {
                counts[slot] = (1, hash(slot))
            } else {
                counts = counts.compactMapValues { $0.hits > 1 ? ($0.hits - 1, $0.hash) : nil }
            }
        }
    }

    /// The slots that were hit most of late, the most often hit first.
    mutating func ranked(hits: Int = 1 << 22, hash: (UInt32) -> UInt32) -> [UInt32] {
        let ranked = counts.filter { $0.value.hash == hash($0.key) }
            .sorted { ($0.value.hits, $1.key) > ($1.value.hits, $0.key) }
            .map(\.key)
        counts = counts.compactMapValues { $0.hits > 1 ? ($0.hits / 2, $0.hash) : nil }
        left = hits
        return ranked
    }
}
