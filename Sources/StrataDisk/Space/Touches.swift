#if Disk
/// The entries that were read since the last write, each once, the one read last at the end.
struct Touches: Sendable {
    /// From as many on they are written by themselves.
    static let portion = 1_024
    /// More are not noted: what was read first then counts as used longest ago.
    private static let most = 8 * portion

    private var order: [Int64: Int] = [:]
    private var count = 0

    /// - Returns: Whether it is time to write them down.
    mutating func add(_ ids: [Int64]) -> Bool {
        for id in ids where order.count < Self.most || order[id] != nil {
            count += 1
            order[id] = count
        }
        return order.count >= Self.portion
    }

    /// All of them in their order, which are forgotten.
    mutating func take() -> [Int64] {
        guard !order.isEmpty else { return [] }
        defer { forget() }
        return order.sorted { $0.value < $1.value }.map(\.key)
    }

    mutating func forget() {
        order.removeAll(keepingCapacity: true)
        count = 0
    }
}
#endif
