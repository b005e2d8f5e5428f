#if Disk
/// The entries that were read since the last write, each once, the one read last at the end.
struct Touches: Sendable {
    /// More than that, and they are written by themselves.
    static let most = 1_024

    private var order: [Int64: Int] = [:]
    private var count = 0

    /// - Returns: Whether it is time to write them down.
    mutating func add(_ ids: [Int64]) -> Bool {
        for id in ids {
            count += 1
            order[id] = count
        }
        return order.count >= Self.most
    }

    /// All of them in their order, which are forgotten.
    mutating func take() -> [Int64] {
        guard !order.isEmpty else { return [] }
        defer {
            order.removeAll(keepingCapacity: true)
            count = 0
        }
        return order.sorted { $0.value < $1.value }.map(\.key)
    }
}
#endif
