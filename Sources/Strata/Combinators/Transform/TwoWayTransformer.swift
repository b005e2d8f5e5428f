/// Turns one kind of thing into another, and back: what is stored into what is used.
///
/// ```swift
/// let cents = TwoWayTransformer<Int, Price> {
///     Price(cents: $0)
/// } inverse: {
///     $0.cents
/// }
/// ```
///
/// Both directions may suspend and may throw; what they throw reaches the caller as it is. Prefer a closure that does
/// not suspend: only behind such a closure is a hit in memory returned without suspending. Such a closure may be run
/// again when it throws, and should be free of side effects.
public struct TwoWayTransformer<Input: Sendable, Output: Sendable>: Sendable {
    @usableFromInline
    let forward: Step<Input, Output>
    @usableFromInline
    let inverse: Step<Output, Input>

    @inlinable
    init(_ forward: Step<Input, Output>, inverse: Step<Output, Input>) {
        self.forward = forward
        self.inverse = inverse
    }

    /// A transformer of closures that do not suspend.
    ///
    /// - Parameters:
    ///   - transform: From what is stored to what is used.
    ///   - inverse: The way back.
    @inlinable
    public init(
        _ transform: @escaping @Sendable (Input) throws -> Output,
        inverse: @escaping @Sendable (Output) throws -> Input
    ) {
        self.init(.immediate(transform), inverse: .immediate(inverse))
    }

    /// A transformer of closures that may suspend.
    ///
    /// - Parameters:
    ///   - transform: From what is stored to what is used.
    ///   - inverse: The way back.
    @inlinable
    public init(
        _ transform: @escaping @Sendable (Input) async throws -> Output,
        inverse: @escaping @Sendable (Output) async throws -> Input
    ) {
        self.init(.suspending(transform), inverse: .suspending(inverse))
    }

    /// What is made of `input`.
    @inlinable
    public func transform(_ input: Input) async throws -> Output {
        try await forward(input)
    }

    /// What `output` was made of.
    @inlinable
    public func inverseTransform(_ output: Output) async throws -> Input {
        try await inverse(output)
    }

    /// The transformer with its directions swapped.
    @inlinable
    public func inverted() -> TwoWayTransformer<Output, Input> {
        TwoWayTransformer<Output, Input>(inverse, inverse: forward)
    }

    /// The first direction alone.
    public var oneWay: OneWayTransformer<Input, Output> { OneWayTransformer(forward) }

    /// This transformer, then another on what it returns; the way back runs them in the reverse order.
    ///
    /// In either direction, when one throws the other is not asked.
    @inlinable
    public func compose<Other: Sendable>(_ next: TwoWayTransformer<Output, Other>) -> TwoWayTransformer<Input, Other> {
        TwoWayTransformer<Input, Other>(forward.then(next.forward), inverse: next.inverse.then(inverse))
    }

    /// This transformer where conditions hold, one for each direction.
    ///
    /// - Parameters:
    ///   - condition: Asked before each transformation, and then only.
    ///   - inverse: Asked before each transformation back, and then only.
    /// - Returns: A transformer that throws ``CacheError/Code/conditionNotSatisfied`` where a condition does not hold,
    ///   and what the condition throws.
    @inlinable
    public func conditioned(
        _ condition: @escaping @Sendable (Input) throws -> Bool,
        inverse: @escaping @Sendable (Output) throws -> Bool
    ) -> TwoWayTransformer {
        TwoWayTransformer(
            forward.conditioned(.immediate(condition)),
            inverse: self.inverse.conditioned(.immediate(inverse))
        )
    }

    /// This transformer where conditions hold that may suspend, one for each direction.
    ///
    /// - Parameters:
    ///   - condition: Asked before each transformation, and then only.
    ///   - inverse: Asked before each transformation back, and then only.
    /// - Returns: A transformer that throws ``CacheError/Code/conditionNotSatisfied`` where a condition does not hold,
    ///   and what the condition throws.
    @inlinable
    public func conditioned(
        _ condition: @escaping @Sendable (Input) async throws -> Bool,
        inverse: @escaping @Sendable (Output) async throws -> Bool
    ) -> TwoWayTransformer {
        TwoWayTransformer(
            forward.conditioned(.suspending(condition)),
            inverse: self.inverse.conditioned(.suspending(inverse))
        )
    }
}
