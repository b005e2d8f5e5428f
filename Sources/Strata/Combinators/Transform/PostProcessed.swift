/// A level whose values are processed on their way out, and stored as they are.
///
/// The processor may change a value, or refuse it by throwing. Processors run in the order in which they were attached.
/// The place of a processor decides who sees its work: on a lower level, the levels above keep the processed value;
/// around a whole cache, only the caller sees it, and it runs for every get.
///
/// ```swift
/// let comments = memory.compose(fetcher.postProcess { $0.sorted() })  // sorted once for each fetch
/// let shown = comments.postProcessEntries { key, value in value.redacted(for: key.reader) }  // for each get
/// ```
///
/// Absences are not processed.
public struct PostProcessed<Base: CacheLevel>: ForwardingLevel, ProcessingLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose values are processed.
    public let base: Base
    @usableFromInline
    package let process: Step<(Base.Key, Base.Value), Base.Value>

    @inlinable
    init(_ base: Base, _ process: Step<(Base.Key, Base.Value), Base.Value>) {
        self.base = base
        self.process = process
    }

    /// The value in the level's memory, processed, if that needs no suspension.
    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        process.resident(of: base, key, at: now, &answers)
    }

    public var label: LevelLabel { LevelLabel("post-processed", parts: [base.label]) }
}

extension PostProcessed: Fetcher where Base: Fetcher {}

extension PostProcessed: AtomicLevel where Base: Fetcher {}

extension PostProcessed: SourcedLevel where Base: SourcedLevel {}

extension CacheLevel {
    /// This level with its values processed on their way out.
    ///
    /// - Parameter process: Run for every get that finds a value. Should be free of side effects: it may be run again
    ///   when it throws.
    /// - Returns: The level with its processor.
    @inlinable
    public func postProcess(_ process: @escaping @Sendable (Value) throws -> Value) -> PostProcessed<Self> {
        PostProcessed(self, .immediate { try process($0.1) })
    }

    /// This level with its values processed on their way out by a closure that may suspend.
    ///
    /// - Parameter process: Run once for every get that finds a value.
    /// - Returns: The level with its processor.
    @inlinable
    public func postProcess(_ process: @escaping @Sendable (Value) async throws -> Value) -> PostProcessed<Self> {
        PostProcessed(self, .suspending { try await process($0.1) })
    }

    /// This level with its values processed on their way out.
    @inlinable
    public func postProcess(_ transformer: OneWayTransformer<Value, Value>) -> PostProcessed<Self> {
        PostProcessed(self, transformer.step.on { $0.1 })
    }

    /// This level with its values processed on their way out, their keys in hand.
    ///
    /// - Parameter process: Run for every get that finds a value. Should be free of side effects: it may be run again
    ///   when it throws.
    /// - Returns: The level with its processor.
    @inlinable
    public func postProcessEntries(_ process: @escaping @Sendable (Key, Value) throws -> Value) -> PostProcessed<Self> {
        PostProcessed(self, .immediate { try process($0.0, $0.1) })
    }

    /// This level with its values processed on their way out by a closure that may suspend, their keys in hand.
    ///
    /// - Parameter process: Run once for every get that finds a value.
    /// - Returns: The level with its processor.
    @inlinable
    public func postProcessEntries(_ process: @escaping @Sendable (Key, Value) async throws -> Value) -> PostProcessed<
        Self
    > {
        PostProcessed(self, .suspending { try await process($0.0, $0.1) })
    }

    /// This level with its values processed on their way out, their keys in hand.
    @inlinable
    public func postProcessEntries(_ transformer: KeyAwareTransformer<Key, Value, Value>) -> PostProcessed<Self> {
        PostProcessed(self, transformer.step)
    }
}
