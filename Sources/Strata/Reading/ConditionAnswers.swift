internal import Synchronization

/// The answers that conditions and a switch gave while a read looked into memory, so that the rest of the read asks
/// none of them twice.
///
/// It is also told whether a level above tells of hits. A read first looks into memory without suspending. When that
/// finds nothing it goes on to ``CacheLevel/entry(for:_:)`` and takes the answers along: that of one condition that
/// held, that of one that did not, and the choice of the outermost switch.
@frozen
public struct ConditionAnswers: Sendable {
    /// The answer of a condition.
    @usableFromInline
    enum Answer: Sendable {
        case holds
        case fails
        case throwing(any Error)
    }

    /// The number of a condition that holds; 0 for none.
    @usableFromInline
    var holding: UInt64 = 0
    /// The number of a condition that does not hold, or has thrown; 0 for none.
    @usableFromInline
    var failing: UInt64 = 0
    @usableFromInline
    var error: (any Error)?
    /// Twice the number of a switch, and one more where it has chosen the first branch; 0 for none.
    @usableFromInline
    var chosen: UInt64 = 0
    /// Whether a level above decides whether what is found is served, and so tells of hits.
    @usableFromInline
    var isJudgedAbove = false

    /// No answers yet.
    @inlinable
    public init() {}

    /// Whether no condition has been asked.
    @inlinable
    var isEmpty: Bool { holding == 0 && failing == 0 }

    /// Whether a switch has chosen its first branch; `nil` when it was not asked.
    @inlinable
    func choosesFirst(_ number: UInt64) -> Bool? { chosen >> 1 == number ? chosen & 1 == 1 : nil }

    @inlinable
    func answer(of number: UInt64) -> Answer? {
        if holding == number { return .holds }
        guard failing == number else { return nil }
        return error.map { .throwing($0) } ?? .fails
    }
}

/// Numbers that tell the conditions and the switches of a process apart.
@usableFromInline
enum ConditionNumber {
    private static let last = Atomic<UInt64>(0)

    @usableFromInline
    static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
