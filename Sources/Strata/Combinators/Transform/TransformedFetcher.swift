/// A fetcher whose values are shown in another form; there is no way back, since nothing is ever stored in it.
///
/// ```swift
/// let documents = ClosureFetcher<URL, [UInt8]> { url in try await download(url) }
///     .transformValues { bytes in try Document(text: bytes) }
/// ```
public struct TransformedFetcher<Base: Fetcher, Value: Sendable>: ProcessingLevel, Fetcher {
    public typealias Key = Base.Key

    /// The fetcher.
    public let base: Base
    @usableFromInline
    let transformer: KeyAwareTransformer<Base.Key, Base.Value, Value>

    @inlinable
    init(_ base: Base, _ transformer: KeyAwareTransformer<Base.Key, Base.Value, Value>) {
        self.base = base
        self.transformer = transformer
    }

    /// Transforms a value.
    package var process: Step<(Base.Key, Base.Value), Value> { transformer.step }

    /// The value in the fetcher's memory, transformed, if that needs no suspension.
    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        transformer.step.resident(of: base, key, at: now, &answers)
    }

    /// Writes nothing.
    ///
    /// Later reads do not join a fetch that is running: a fetcher is told of a write, and does not look at the value,
    /// which has no form here.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        try await base.store(Entry(.absent), for: key)
    }

    public var label: LevelLabel {
        LevelLabel("values transformed, \(Base.Value.self) to \(Value.self)", parts: [base.label])
    }
}

extension TransformedFetcher: AtomicLevel {}

extension Fetcher {
    /// This fetcher with its values in another form, which a closure makes.
    ///
    /// - Parameter transform: Run for every read that finds a value. It may be run again when it throws.
    /// - Returns: The fetcher with its new values.
    @inlinable
    public func transformValues<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other
    ) -> TransformedFetcher<Self, Other> {
        transformValues(OneWayTransformer(transform))
    }

    /// This fetcher with its values in another form, made by a closure that may suspend.
    ///
    /// - Parameter transform: Run once for every read that finds a value.
    /// - Returns: The fetcher with its new values.
    @inlinable
    public func transformValues<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) async throws -> Other
    ) -> TransformedFetcher<Self, Other> {
        transformValues(OneWayTransformer(transform))
    }

    /// This fetcher with its values in another form.
    @inlinable
    public func transformValues<Other: Sendable>(
        _ transformer: OneWayTransformer<Value, Other>
    ) -> TransformedFetcher<Self, Other> {
        TransformedFetcher(self, KeyAwareTransformer(transformer))
    }

    /// This fetcher with its values in another form that depends on their keys.
    @inlinable
    public func transformValues<Other: Sendable>(
        _ transformer: KeyAwareTransformer<Key, Value, Other>
    ) -> TransformedFetcher<Self, Other> {
        TransformedFetcher(self, transformer)
    }
}
