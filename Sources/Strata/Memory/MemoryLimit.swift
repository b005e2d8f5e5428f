/// How much a memory level may hold.
public struct MemoryLimit<Value: Sendable>: Sendable {
    /// The most the entries may weigh together.
    public let total: Int
    /// What one entry weighs; `nil` means that every entry weighs 1.
    @usableFromInline let weigh: (@Sendable (Value) -> Int)?

    /// At most this many entries.
    public static func entries(_ count: Int) -> MemoryLimit {
        MemoryLimit(total: count, weigh: nil)
    }

    /// Entries of at most this cost together.
    ///
    /// - Parameters:
    ///   - total: The limit, in the unit of `weigh`: bytes, for example.
    ///   - weigh: The cost of a value, asked once when it is stored. Absent entries cost 1.
    /// - Returns: The limit.
    public static func cost(_ total: Int, of weigh: @escaping @Sendable (Value) -> Int) -> MemoryLimit {
        MemoryLimit(total: total, weigh: weigh)
    }

    @inlinable
    func weight(of entry: Entry<Value>) -> Int {
        guard let weigh, case .value(let value) = entry.content else { return 1 }
        return max(1, weigh(value))
    }
}
