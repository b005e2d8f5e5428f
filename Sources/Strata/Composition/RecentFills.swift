/// Fills by key, in the order in which they were noted.
///
/// Each operation is O(1) on average. The fill that has to go is not taken from the table itself: in the table's order
/// that would always be the first one, and the rest would crowd together behind, until each look-up compared thousands
/// of keys.
struct RecentFills<Key: Hashable & Sendable>: Sendable {
    typealias Fill = FillLedger<Key>.Fill

    private var fills: [Key: (fill: Fill, number: UInt64)] = [:]
    /// The keys as they were noted; outdated where the number is another one.
    private var order: [(key: Key, number: UInt64)] = []
    private var start = 0
    private var lastNumber: UInt64 = 0

    var count: Int { fills.count }

    /// How many places are kept in the order, outdated ones among them.
    var places: Int { order.count }

    subscript(key: Key) -> Fill? { fills[key]?.fill }

    /// Notes a fill as the newest.
    mutating func note(_ fill: Fill, for key: Key) {
        lastNumber += 1
        fills[key] = (fill, lastNumber)
        order.append((key, lastNumber))
        guard order.count > 2 * fills.count + 64 else { return }
        order = order[start...].filter { fills[$0.key]?.number == $0.number }
        start = 0
    }

    mutating func remove(_ key: Key) { fills[key] = nil }

    /// Removes the oldest fill that says something; where none of the oldest does, one of these.
    ///
    /// - Parameter key: Its fill stays.
    /// - Returns: What was removed; `nil` where there is nothing else.
    mutating func removeOldest(but key: Key) -> FillLedger<Key>.Forgotten? {
        var chosen: Key?
        for _ in 0..<64 {
            guard let oldest = takeOldest(), let fill = fills[oldest]?.fill else { break }
            guard oldest == key || fill.ticket == .void else {
                chosen = oldest
                break
            }
            note(fill, for: oldest)
            if oldest != key { chosen = chosen ?? oldest }
        }
        guard let chosen, let fill = fills.removeValue(forKey: chosen)?.fill else { return nil }
        return (chosen, fill)
    }

    /// Takes the oldest key out of the order.
    private mutating func takeOldest() -> Key? {
        while start < order.count {
            let (key, number) = order[start]
            start += 1
            if fills[key]?.number == number { return key }
        }
        return nil
    }
}
