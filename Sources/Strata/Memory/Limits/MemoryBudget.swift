/// One limit for several memory levels, each with a guaranteed part.
///
/// ```swift
/// let budget = MemoryBudget(256 << 20)
/// let products = MemoryLevel<Int, Product>(limit: .share(of: budget, atLeast: 64 << 20, cost: { $0.byteCount }))
/// let pages = MemoryLevel<String, [UInt8]>(limit: .share(of: budget, atMost: 128 << 20, cost: { $0.count }))
/// ```
///
/// The levels together never weigh more than the total: each has an *allowance*, all allowances together are within the
/// total, and each level keeps to its own as to any limit. A level that has to evict asks for more, in steps of a 64th
/// of the total. It gets, in this order: what no level has; what another level has and does not use; and the part of
/// another's allowance that exceeds its fair share by more than the asking level's own does. A fair share is the
/// level's guaranteed part, and an equal part of what is guaranteed to none. So busy levels converge to their fair
/// shares, and use what the others leave.
///
/// All levels of a budget must weigh in the same unit. A level that is released gives its allowance back.
public final class MemoryBudget: Sendable {
    /// The most that all levels may weigh together.
    public let total: Int
    private let members = Locked([Member]())

    private struct Member {
        weak var level: (any BudgetMember)?
        var atLeast: Int
        var atMost: Int
        var allowance: Int
    }

    /// A budget without levels.
    ///
    /// - Parameter total: The most that all levels may weigh together, in the unit of their limits; below 0 counts as
    ///   0.
    public init(_ total: Int) {
        self.total = min(max(total, 0), 1 << 62)
    }

    /// The present allowances, in the order in which the levels came.
    public var allowances: [Int] {
        withMembers { members, _ in (members.map(\.allowance), []) }
    }

    /// The smallest step in which levels get more.
    private var step: Int { max(1, total / 64) }

    /// Adds a level.
    ///
    /// - Returns: Its allowance: the guaranteed part, as far as it is not guaranteed to others already.
    func join(_ level: some BudgetMember, atLeast: Int, atMost: Int) -> Int {
        withMembers { members, total in
            let guaranteed = members.reduce(0) { $0 + $1.atLeast }
            let own = min(max(atLeast, 0), max(atMost, 0), max(total - guaranteed, 0))
            members.append(Member(level: level, atLeast: own, atMost: max(atMost, 0), allowance: 0))
            let effects = grant(own, to: members.count - 1, &members, isGuaranteed: true)
            return (members[members.count - 1].allowance, effects)
        }
    }

    /// Runs `body` with the living members, and the effects that it returns after the lock.
    ///
    /// The levels are kept until then, so that none is released, with all its values, under the lock.
    private func withMembers<Result: Sendable>(_ body: (inout [Member], Int) -> (Result, [BudgetEffect])) -> Result {
        let (result, effects, held) = members.withLock { members in
            let held = members.map(\.level)
            members = zip(members, held).compactMap { $1 == nil ? nil : $0 }
            let (result, effects) = body(&members, total)
            return (result, effects, held)
        }
        for effect in effects { effect() }
        return withExtendedLifetime(held) { result }
    }

    /// Gives a level a larger allowance, if there is any left.
    ///
    /// - Parameters:
    ///   - level: The level that asks.
    ///   - most: What it needs at least for a single entry: no other level gives anything for less. It gets a step if
    ///     that is more.
    func grow(_ level: some BudgetMember, by most: Int) {
        withMembers { members, _ in
            guard let own = members.firstIndex(where: { $0.level === level }) else { return ((), []) }
            let before = members[own].allowance
            if most > 0 {
                var trial = members
                _ = grant(most, to: own, &trial, isGuaranteed: false, isTrial: true)
                guard trial[own].allowance - before >= most else { return ((), []) }
            }
            var effects = grant(max(most, step), to: own, &members, isGuaranteed: false)
            guard members[own].allowance > before else { return ((), effects) }
            if let effect = level.setAllowance(members[own].allowance) { effects.append(effect) }
            return ((), effects)
        }
    }

    // In a trial it is only to be seen what would come of it: no level is told.
    private func grant(
        _ amount: Int,
        to own: Int,
        _ members: inout [Member],
        isGuaranteed: Bool,
        isTrial: Bool = false
    ) -> [BudgetEffect] {
        var effects: [BudgetEffect] = []
        var wanted = min(amount, members[own].atMost - members[own].allowance)
        let free = total - members.reduce(0) { $0 + $1.allowance }
        let taken = min(free, max(wanted, 0))
        members[own].allowance += taken
        wanted -= taken
        while wanted > 0 {
            guard let (donor, most) = donor(for: own, members, isGuaranteed: isGuaranteed) else { break }
            let part = min(wanted, most)
            members[donor].allowance -= part
            // The donor evicts before the other may use its part.
            if !isTrial, let effect = members[donor].level?.setAllowance(members[donor].allowance) {
                effects.append(effect)
            }
            members[own].allowance += part
            wanted -= part
        }
        return effects
    }

    /// The donor, and how much it gives at most.
    private func donor(for own: Int, _ members: [Member], isGuaranteed: Bool) -> (Int, Int)? {
        let guaranteed = members.reduce(0) { $0 + $1.atLeast }
        let equal = (total - guaranteed) / members.count
        func excess(_ index: Int) -> Int { members[index].allowance - members[index].atLeast - equal }
        var best: (index: Int, most: Int)?
        for index in members.indices where index != own {
            let member = members[index]
            let spare = member.allowance - member.atLeast
            guard spare > 0 else { continue }
            let unused = min(spare, member.allowance - (member.level?.weightHeld ?? 0))
            // Half of the difference, so that two asking levels do not pass the same part to and fro.
            let unfair = isGuaranteed ? spare : min(spare, (excess(index) - excess(own)) / 2)
            let most = max(unused > step ? unused : 0, unfair >= step ? unfair : 0, isGuaranteed ? spare : 0)
            if most > best?.most ?? 0 { best = (index, most) }
        }
        return best.map { ($0.index, $0.most) }
    }
}

/// Effects for after the locks: calls of listeners.
typealias BudgetEffect = @Sendable () -> Void

/// A level that shares a limit with others.
protocol BudgetMember: AnyObject, Sendable {
    /// The weight of its entries.
    var weightHeld: Int { get }

    /// Sets another limit, and evicts what exceeds it.
    func setAllowance(_ allowance: Int) -> BudgetEffect?
}
