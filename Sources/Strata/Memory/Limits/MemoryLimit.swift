/// How much a memory level may hold.
public struct MemoryLimit<Value: Sendable>: Sendable {
    /// The most the entries may weigh together.
    public let total: Int
    /// The budget that the level shares with others, if it does.
    public let budget: MemoryBudget?
    /// What the budget guarantees the level.
    let atLeast: Int
    /// What one entry weighs; `nil` means that every entry weighs 1.
    @usableFromInline let weigh: (@Sendable (Value) -> Int)?

    private init(total: Int, budget: MemoryBudget? = nil, atLeast: Int = 0, weigh: (@Sendable (Value) -> Int)?) {
        self.total = min(max(total, 0), 1 << 62)
        self.budget = budget
        self.atLeast = atLeast
        self.weigh = weigh
    }

    /// At most this many entries.
    ///
    /// Zero or less switches the level off: it keeps nothing, which is no error of those who store.
    public static func entries(_ count: Int) -> MemoryLimit {
        MemoryLimit(total: count, weigh: nil)
    }

    /// Entries of at most this cost together.
    ///
    /// - Parameters:
    ///   - total: The limit, in the unit of `weigh`: bytes, for example.
    ///   - weigh: The cost of a value, asked once when it is stored. Less than 1 counts as 1; an absent entry counts as
    ///     a millionth of the limit, at least 1 and at most 256.
    /// - Returns: The limit.
    public static func cost(_ total: Int, of weigh: @escaping @Sendable (Value) -> Int) -> MemoryLimit {
        MemoryLimit(total: total, weigh: weigh)
    }

    /// A part of a limit that several levels share.
    ///
    /// - Parameters:
    ///   - budget: The shared limit.
    ///   - atLeast: The guaranteed part of this level.
    ///   - atMost: What it never exceeds; `nil` is the whole budget.
    ///   - weigh: The cost of a value, asked once when it is stored, in the unit of the budget; `nil` counts entries.
    /// - Returns: The limit.
    public static func share(
        of budget: MemoryBudget,
        atLeast: Int = 0,
        atMost: Int? = nil,
        cost weigh: (@Sendable (Value) -> Int)? = nil
    ) -> MemoryLimit {
        let most = min(atMost ?? budget.total, budget.total)
        return MemoryLimit(total: most, budget: budget, atLeast: atLeast, weigh: weigh)
    }

    /// The same with another total.
    func resized(to total: Int) -> MemoryLimit {
        MemoryLimit(total: total, budget: budget, atLeast: atLeast, weigh: weigh)
    }

    @inlinable
    func weight(of entry: Entry<Value>) -> Int {
        guard weigh != nil else { return 1 }
        guard case .value(let value) = entry.content else { return absence }
        return weight(of: value)
    }

    /// What an absence weighs beside values of some unit: a caller that asks for keys that do not exist must not fill
    /// memory with as many of them as the limit has bytes.
    @inlinable
    var absence: Int { min(max(total >> 20, 1), 256) }

    @inlinable
    @inline(__always)
    func weight(of value: Value) -> Int {
        guard let weigh else { return 1 }
        return max(1, weigh(value))
    }
}
