extension MemoryLevel where Value: Costed {
    /// An empty level for values of at most 50 MiB together, as they tell their costs.
    @inlinable
    public convenience init(
        lifetime: Duration? = nil,
        idleLifetime: Duration? = nil,
        onRemoval: (@Sendable (MemoryRemoval<Key, Value>) -> Void)? = nil
    ) {
        self.init(limit: .standard, lifetime: lifetime, idleLifetime: idleLifetime, onRemoval: onRemoval)
    }
}

extension MemoryLevel {
    /// Unavailable: values that do not tell their cost need a limit.
    @available(
        *,
        unavailable,
        message: "say how much it may hold, as in MemoryLevel(limit: .entries(10_000)); Costed values need no limit"
    )
    public convenience init(
        lifetime: Duration? = nil,
        idleLifetime: Duration? = nil,
        onRemoval: (@Sendable (MemoryRemoval<Key, Value>) -> Void)? = nil
    ) {
        fatalError("unavailable")
    }
}
