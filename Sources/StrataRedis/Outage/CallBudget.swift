internal import Strata
internal import Synchronization

/// What one call of a cache may still spend on Redis, in all its steps.
///
/// Only the wait for Redis is charged, not the source's time and not the wait for another instance. The budget travels
/// as a task-local value, so the steps of child tasks are charged, too. Each level begins a new one: a source that is
/// itself a cache has its own budget.
final class CallBudget: Sendable {
    @TaskLocal static var current: CallBudget?

    private let remaining: Atomic<Int64>

    /// - Parameter limit: What may be spent, in nanoseconds.
    init(_ limit: Int64) {
        remaining = Atomic(limit)
    }

    /// What is left, in nanoseconds; zero or less when it is spent.
    var left: Int64 { remaining.load(ordering: .relaxed) }

    /// Charges a step.
    func spend(_ nanoseconds: Int64) {
        remaining.wrappingSubtract(max(0, nanoseconds), ordering: .relaxed)
    }
}
