internal import Strata
internal import Synchronization

/// What one call of a cache may still spend on Redis, over all its steps.
///
/// Only time in which Redis is waited for is charged; the source's time and the wait for another instance are not. It
/// travels as a task-local value, so steps that child tasks take are charged as well. Each level begins a new one: a source
/// that is itself a cache has a budget of its own.
final class CallBudget: Sendable {
    @TaskLocal static var current: CallBudget?

    private let remaining: Atomic<Int64>

    /// - Parameter limit: What may be spent, in nanoseconds.
    init(_ limit: Int64) {
        remaining = Atomic(limit)
    }

    /// What is left, in nanoseconds; not above zero when there is nothing.
    var left: Int64 { remaining.load(ordering: .relaxed) }

    /// Charges a step.
    func spend(_ nanoseconds: Int64) {
        remaining.wrappingSubtract(max(0, nanoseconds), ordering: .relaxed)
    }
}
