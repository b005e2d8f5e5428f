internal import Synchronization

/// What conditions have answered on a read's way to memory, for the rest of the read: none is asked twice.
///
/// A read first asks what memory has, without suspending, and goes on to ``CacheLevel/entry(for:_:)`` when that was in vain. It
/// hands on what was answered until then. One condition that held is remembered, and one that did not.
@frozen
public struct ConditionAnswers: Sendable {
    /// What a condition has answered.
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

    /// No answers yet.
    @inlinable
    public init() {}

    /// Whether no condition has been asked.
    @inlinable
    var isEmpty: Bool { holding == 0 && failing == 0 }

    @inlinable
    func answer(of number: UInt64) -> Answer? {
        if holding == number { return .holds }
        guard failing == number else { return nil }
        return error.map { .throwing($0) } ?? .fails
    }
}

/// Numbers that tell the conditions of a process apart.
@usableFromInline
enum ConditionNumber {
    private static let last = Atomic<UInt64>(0)

    @usableFromInline
    static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

extension Step where Output == Bool {
    /// Whether a condition that never waits holds, with its answer taken down.
    @inlinable
    @inline(__always)
    func holds(_ input: Input, _ number: UInt64, _ answers: inout ConditionAnswers) -> Bool {
        switch self {
        case .immediate(let body):
            do {
                guard try body(input) else {
                    answers.failing = number
                    return false
                }
                answers.holding = number
                return true
            } catch {
                answers.failing = number
                answers.error = error
                return false
            }
        case .suspending: return false
        }
    }
}
