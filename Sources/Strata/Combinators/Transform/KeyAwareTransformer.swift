/// Turns a value into another with its key in hand: for values whose form depends on the key, or that only some keys
/// may have.
///
/// ```swift
/// let checked = KeyAwareTransformer<URL, [UInt8], Document> { url, bytes in
///     try url.pathExtension == "json" ? Document(json: bytes) : Document(text: bytes)
/// }
/// ```
///
/// The closure rejects a key or a value by throwing. As with ``OneWayTransformer``, a closure that does not suspend
/// keeps hits in memory from suspending, may be run again when it throws, and should be free of side effects.
public struct KeyAwareTransformer<Key: Sendable, Input: Sendable, Output: Sendable>: Sendable {
    @usableFromInline
    let step: Step<(Key, Input), Output>

    @inlinable
    init(_ step: Step<(Key, Input), Output>) {
        self.step = step
    }

    /// A transformer of a closure that does not suspend.
    @inlinable
    public init(_ transform: @escaping @Sendable (Key, Input) throws -> Output) {
        step = .immediate { try transform($0.0, $0.1) }
    }

    /// A transformer of a closure that may suspend.
    @inlinable
    public init(_ transform: @escaping @Sendable (Key, Input) async throws -> Output) {
        step = .suspending { try await transform($0.0, $0.1) }
    }

    /// A plain transformer, which ignores the key.
    @inlinable
    public init(_ transformer: OneWayTransformer<Input, Output>) {
        step = transformer.step.on { $0.1 }
    }

    /// What the closure makes of the value of a key.
    ///
    /// - Throws: What the closure throws.
    @inlinable
    public func transform(_ input: Input, for key: Key) async throws -> Output {
        try await step((key, input))
    }
}
