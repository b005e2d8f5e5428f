/// Turns one type into another: keys for a level with other keys, values of a fetcher.
///
/// ```swift
/// let path = OneWayTransformer<URL, String> { $0.path }
/// let size = OneWayTransformer<[UInt8], Int> { $0.count }
/// ```
///
/// It may suspend, and it may throw; its own error reaches the caller. Prefer a closure that does not suspend: only
/// behind such a closure is a hit in memory returned without suspending. It may be run again when it throws, and should
/// be free of side effects.
public struct OneWayTransformer<Input: Sendable, Output: Sendable>: Sendable {
    @usableFromInline
    let step: Step<Input, Output>

    @inlinable
    init(_ step: Step<Input, Output>) {
        self.step = step
    }

    /// A transformer of a closure that does not suspend.
    @inlinable
    public init(_ transform: @escaping @Sendable (Input) throws -> Output) {
        step = .immediate(transform)
    }

    /// A transformer of a closure that may suspend.
    @inlinable
    public init(_ transform: @escaping @Sendable (Input) async throws -> Output) {
        step = .suspending(transform)
    }

    /// What the closure makes of `input`.
    ///
    /// - Throws: What the closure throws.
    @inlinable
    public func transform(_ input: Input) async throws -> Output {
        try await step(input)
    }

    /// This transformer, then another on what it returns.
    ///
    /// When this one throws, the other is not asked.
    @inlinable
    public func compose<Other: Sendable>(_ next: OneWayTransformer<Output, Other>) -> OneWayTransformer<Input, Other> {
        OneWayTransformer<Input, Other>(step.then(next.step))
    }

    /// This transformer where a condition holds.
    ///
    /// - Parameter condition: Asked for each input, never remembered. What it throws reaches the caller.
    /// - Returns: A transformer that throws ``CacheError/Code/conditionNotSatisfied`` where the condition does not
    ///   hold.
    @inlinable
    public func conditioned(_ condition: @escaping @Sendable (Input) throws -> Bool) -> OneWayTransformer {
        OneWayTransformer(step.conditioned(.immediate(condition)))
    }

    /// This transformer where a condition holds that may suspend.
    ///
    /// - Parameter condition: Asked for each input, never remembered. What it throws reaches the caller.
    /// - Returns: A transformer that throws ``CacheError/Code/conditionNotSatisfied`` where the condition does not
    ///   hold.
    @inlinable
    public func conditioned(_ condition: @escaping @Sendable (Input) async throws -> Bool) -> OneWayTransformer {
        OneWayTransformer(step.conditioned(.suspending(condition)))
    }
}
