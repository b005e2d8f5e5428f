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
    /// Whether steps are charged one by one.
    private let isCharged: Bool

    /// - Parameters:
    ///   - limit: What may be spent, in nanoseconds.
    ///   - isCharged: Whether steps are charged one by one.
    init(_ limit: Int64, isCharged: Bool = true) {
        remaining = Atomic(limit)
        self.isCharged = isCharged
    }

    /// What is left, in nanoseconds; zero or less when it is spent.
    var left: Int64 { remaining.load(ordering: .relaxed) }

    /// Charges a step.
    func spend(_ nanoseconds: Int64) {
        guard isCharged else { return }
        remaining.wrappingSubtract(max(0, nanoseconds), ordering: .relaxed)
    }

    /// Charges the running call a wait for Redis that is no command.
    static func charge<Result>(_ wait: () async throws -> Result) async rethrows -> Result {
        guard let budget = current else { return try await wait() }
        let start = MonotonicInstant.now
        defer { budget.spend(start.nanoseconds(to: .now)) }
        return try await wait()
    }

    /// Runs steps that go on at the same time: together they are charged for as long as they take, and each may take
    /// all that is left.
    ///
    /// Otherwise a batch over the slots of a cluster would have spent its budget by their number.
    static func together<Result>(_ steps: () async throws -> Result) async rethrows -> Result {
        guard let budget = current else { return try await steps() }
        return try await charge {
            try await $current.withValue(CallBudget(budget.left, isCharged: false), operation: steps)
        }
    }

    /// Runs one after the other, within such steps or beside another, what may take all that is left to each of them.
    static func apart<Result>(_ steps: () async throws -> Result) async rethrows -> Result {
        guard let budget = current else { return try await steps() }
        return try await $current.withValue(CallBudget(budget.left), operation: steps)
    }
}
