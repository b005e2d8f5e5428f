/// A level that is asked only for keys that satisfy a condition.
///
/// | operation | when the condition holds | when it does not |
/// |---|---|---|
/// | get | as the level | ``CacheError/Code/conditionNotSatisfied`` |
/// | set, remove, clear | as the level | as the level: the condition is not asked |
///
/// Above another level, a false condition sends the read to that level. Because writes are unconditioned, the value
/// found there is then kept here nevertheless.
///
/// The condition is asked once for every get; its answer is never remembered. One that throws ends the get with its
/// error.
///
/// ```swift
/// let products = memory.compose(redisLevel.conditioned { _ in await breaker.isClosed }).compose(fetcher)
/// ```
public struct Conditioned<Base: CacheLevel>: ForwardingLevel, AnsweringLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level that is asked when the condition holds.
    public let base: Base
    @usableFromInline
    let condition: Step<Base.Key, Bool>

    /// Tells the answers of this condition from those of others.
    @usableFromInline
    let number: UInt64

    @inlinable
    init(_ base: Base, _ condition: Step<Base.Key, Bool>) {
        self.base = base
        self.condition = condition
        number = ConditionNumber.next()
    }

    /// The level's entry, if the condition holds.
    ///
    /// - Throws: ``CacheError/Code/conditionNotSatisfied``; what the condition or the level throws.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        // Writes are unconditioned, and so is the right to one; for a read that only waits, the condition was asked
        // when it began.
        if request.rights != nil || request.awaited != nil { return try await base.entry(for: key, request) }
        switch request.answers.answer(of: number) {
        case .holds: break
        case .fails: throw CacheError.conditionNotSatisfied
        case .throwing(let error): throw error
        case nil: guard try await condition(key) else { throw CacheError.conditionNotSatisfied }
        }
        return try await base.entry(for: key, request)
    }

    /// The level's entries, in one call for all keys for which the condition holds.
    ///
    /// - Throws: ``CacheError/Code/conditionNotSatisfied`` when it does not hold for one of them, unless failures are
    ///   left out; what the condition or the level throws.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        if request.rights != nil { return try await base.entries(for: keys, request) }
        let satisfied = try await condition.each(keys, request) { isSatisfied in
            guard isSatisfied else { throw CacheError.conditionNotSatisfied }
            return true
        }
        let asked = keys.indices.filter { satisfied[$0] != nil }
        return try await base.entries(of: keys, at: asked, request)
    }

    /// The value in the level's memory, if the condition holds and can be asked without suspending; notes its answer.
    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        // The level comes first, so that the condition of a missing key is asked later, and only once.
        guard condition.isImmediate, let resident = base.resident(key, at: now, &answers),
            condition.holds(key, number, &answers)
        else { return nil }
        return resident
    }

    public var label: LevelLabel { LevelLabel("conditioned", parts: [base.label]) }
}

extension Conditioned: Fetcher where Base: Fetcher {}

extension Conditioned: AtomicLevel where Base: AtomicLevel {}

extension Conditioned: SourcedLevel where Base: SourcedLevel {}

extension CacheLevel {
    /// This level, asked only for keys that satisfy a condition.
    ///
    /// A hit in memory still does not suspend.
    ///
    /// - Parameter condition: Asked once for each get, on the hot path: it should be quick, and without side effects.
    /// - Returns: The level with its condition.
    @inlinable
    public func conditioned(_ condition: @escaping @Sendable (Key) throws -> Bool) -> Conditioned<Self> {
        Conditioned(self, .immediate(condition))
    }

    /// This level, asked only for keys that satisfy a condition that may suspend.
    ///
    /// - Parameter condition: Asked once for each get.
    /// - Returns: The level with its condition.
    @inlinable
    public func conditioned(_ condition: @escaping @Sendable (Key) async throws -> Bool) -> Conditioned<Self> {
        Conditioned(self, .suspending(condition))
    }
}
