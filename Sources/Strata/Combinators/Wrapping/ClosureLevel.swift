/// A level made of closures: the quickest way to make a level of anything.
public struct ClosureLevel<Key: Hashable & Sendable, Value: Sendable>: CacheLevel {
    private let onGet: @Sendable (Key) async throws -> Value?
    private let onSet: @Sendable (Value, Key) async throws -> Void
    private let onRemove: @Sendable (Key) async throws -> Void
    private let onClear: @Sendable () async throws -> Void
    private let onPressure: @Sendable (MemoryPressure) -> Void

    /// A level that asks closures.
    ///
    /// Each runs once a call; what it throws reaches the caller as it is.
    ///
    /// - Parameters:
    ///   - get: Returns a key's value, or `nil`.
    ///   - set: Keeps a value.
    ///   - remove: Forgets a key.
    ///   - clear: Forgets all keys.
    ///   - pressure: Gives memory back.
    public init(
        get: @escaping @Sendable (Key) async throws -> Value?,
        set: @escaping @Sendable (Value, Key) async throws -> Void,
        remove: @escaping @Sendable (Key) async throws -> Void = { _ in },
        clear: @escaping @Sendable () async throws -> Void = {},
        pressure: @escaping @Sendable (MemoryPressure) -> Void = { _ in }
    ) {
        onGet = get
        onSet = set
        onRemove = remove
        onClear = clear
        onPressure = pressure
    }

    /// What the closure returns, without a lifetime of its own.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        guard request.awaited == nil else { return nil }
        return try await onGet(key).map { Entry(.value($0), origin: "closure") }
    }

    /// Hands a value to the closure; an absence removes the key.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        switch entry.content {
        case .value(let value): try await onSet(value, key)
        case .absent: try await onRemove(key)
        }
    }

    /// Runs the closure.
    public func remove(_ key: Key) async throws {
        try await CallLocals.apart { try await onRemove(key) }
    }

    /// Runs the closure.
    public func removeAll() async throws { try await CallLocals.apart { try await onClear() } }

    /// Runs the closure.
    public func relieve(_ pressure: MemoryPressure) { onPressure(pressure) }

    public var label: LevelLabel { LevelLabel("closures") }
}
