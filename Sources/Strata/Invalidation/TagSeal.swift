/// Tells whether one of an entry's tags was invalidated after the entry was known to be valid.
///
/// The tags have counters in a ``FillGate``, as keys have. The seal holds the sum of them: counters only grow, so an
/// equal sum means that none has moved. Tags that share a counter are voided together; over-invalidation is allowed.
///
/// Immutable; entries and their copies share it. Checking it is O(tags) and neither locks nor allocates.
public final class TagSeal: Sendable, Equatable {
    private let gate: FillGate
    private let slots: [UInt32]
    private let sum: UInt64
    /// How often everything had been voided.
    private let voids: UInt64
    /// Seals that must live, too.
    private let others: [TagSeal]

    init(_ gate: FillGate, slots: [UInt32], sum: UInt64, voids: UInt64, others: [TagSeal]) {
        self.gate = gate
        self.slots = slots
        self.sum = sum
        self.voids = voids
        self.others = others
    }

    /// Whether none of the tags was invalidated.
    @usableFromInline
    package var isLive: Bool {
        gate.sum(ofSlots: slots) == sum && others.allSatisfy { $0.isLive }
    }

    /// What has voided all entries since, where that has ended the seal, too; `nil` where a tag has ended it.
    ///
    /// For accounts of reads.
    package var voidCause: VoidCause? {
        guard gate.sum(ofSlots: slots) == sum else {
            return gate.recentVoids.countOfAll == voids ? nil : gate.recentVoids.lastOfAll
        }
        return others.first { !$0.isLive }?.voidCause
    }

    /// Whether this seal, or one that must live, too, covers these slots of a gate.
    func covers(_ gate: FillGate, slots: [UInt32]) -> Bool {
        self.gate === gate && self.slots == slots || others.contains { $0.covers(gate, slots: slots) }
    }

    /// One seal for several; `nil` for none.
    static func joining(_ seals: [TagSeal?]) -> TagSeal? {
        let seals = seals.compactMap { $0 }
        guard let first = seals.first, seals.count > 1 else { return seals.first }
        return TagSeal(first.gate, slots: [], sum: 0, voids: first.gate.recentVoids.countOfAll, others: seals)
    }

    /// Whether both are the same seal.
    public static func == (one: TagSeal, other: TagSeal) -> Bool { one === other }
}
