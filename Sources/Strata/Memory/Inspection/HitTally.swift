/// Which slots are hit most: counts while somebody asks, and not otherwise.
///
/// The frequent-items algorithm of Misra and Gries (1982): a slot that has more than 1/(`capacity` + 1) of all hits is among
/// those that are counted, and no count is too high. Each question halves the counts, so that what was hit once fades.
struct HitTally: Sendable {
    /// How many slots are counted at most.
    private let capacity: Int
    private var counts: [UInt32: UInt32] = [:]
    /// How many hits are counted until somebody has to ask again.
    private var left: Int

    init(capacity: Int, hits: Int = 1 << 22) {
        self.capacity = capacity
        left = hits
    }

    /// Whether nobody has asked for so long that counting is no use.
    var isOver: Bool { left <= 0 }

    /// Counts hits.
    ///
    /// Complexity: O(slots) in the mean.
    mutating func add(_ slots: some Collection<UInt32>) {
        left -= slots.count
        for slot in slots {
            if let place = counts.index(forKey: slot) {
                counts.values[place] &+= 1
            } else if counts.count < capacity {
                counts[slot] = 1
            } else {
                counts = counts.compactMapValues { $0 > 1 ? $0 - 1 : nil }
            }
        }
    }

    /// The slots that were hit most of late, the most often hit first.
    mutating func ranked(hits: Int = 1 << 22) -> [UInt32] {
        let ranked = counts.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.map(\.key)
        counts = counts.compactMapValues { $0 > 1 ? $0 / 2 : nil }
        left = hits
        return ranked
    }
}
