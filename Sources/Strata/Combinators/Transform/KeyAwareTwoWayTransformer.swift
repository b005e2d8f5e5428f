/// Turns a value into another and back, with its key in hand.
///
/// ```swift
/// // Each user's values are sealed for that user.
/// let sealed = KeyAwareTwoWayTransformer<User.ID, [UInt8], [UInt8]> { user, bytes in
///     try vault.open(bytes, for: user)
/// } inverse: { user, bytes in
///     try vault.seal(bytes, for: user)
/// }
/// ```
///
/// The closures reject a key or a value by throwing. As with ``TwoWayTransformer``, closures that do not suspend keep
/// hits in memory from suspending, may be run again when they throw, and should be free of side effects.
public struct KeyAwareTwoWayTransformer<Key: Sendable, Input: Sendable, Output: Sendable>: Sendable {
    @usableFromInline
    let forward: Step<(Key, Input), Output>
    @usableFromInline
    let inverse: Step<(Key, Output), Input>

    @inlinable
    init(_ forward: Step<(Key, Input), Output>, inverse: Step<(Key, Output), Input>) {
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
        _ transform: @escaping @Sendable (Key, Input) throws -> Output,
        inverse: @escaping @Sendable (Key, Output) throws -> Input
    ) {
        self.init(
            .immediate { try transform($0.0, $0.1) },
            inverse: .immediate { try inverse($0.0, $0.1) }
        )
    }

    /// A transformer of closures that may suspend.
    ///
    /// - Parameters:
    ///   - transform: From what is stored to what is used.
    ///   - inverse: The way back.
    @inlinable
    public init(
        _ transform: @escaping @Sendable (Key, Input) async throws -> Output,
        inverse: @escaping @Sendable (Key, Output) async throws -> Input
    ) {
        self.init(
            .suspending { try await transform($0.0, $0.1) },
            inverse: .suspending { try await inverse($0.0, $0.1) }
        )
    }

    /// A plain transformer, which ignores the key.
    @inlinable
    public init(_ transformer: TwoWayTransformer<Input, Output>) {
        self.init(transformer.forward.on { $0.1 }, inverse: transformer.inverse.on { $0.1 })
    }

    /// What is made of the value of a key.
    @inlinable
    public func transform(_ input: Input, for key: Key) async throws -> Output {
        try await forward((key, input))
    }

    /// What the value of a key was made of.
    @inlinable
    public func inverseTransform(_ output: Output, for key: Key) async throws -> Input {
        try await inverse((key, output))
    }

    /// The transformer with its directions swapped, and the same key.
    @inlinable
    public func inverted() -> KeyAwareTwoWayTransformer<Key, Output, Input> {
        KeyAwareTwoWayTransformer<Key, Output, Input>(inverse, inverse: forward)
    }
}
