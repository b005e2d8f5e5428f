extension MemoryLimit where Value: Costed {
    /// The default limit: 50 MiB, if costs are bytes.
    public static var standard: MemoryLimit { .cost(50 << 20) }

    /// Entries of at most this cost together; each value tells its own when it is stored.
    public static func cost(_ total: Int) -> MemoryLimit {
        .cost(total) { $0.cost }
    }
}

extension MemoryLimit {
    /// Values of at most this many bytes together, in the encoded form.
    ///
    /// Encoding costs time on every store, and memory holds values in their own form, which may be larger. Prefer a
    /// closure that estimates, where possible: ``cost(_:of:)``.
    ///
    /// - Parameters:
    ///   - total: The limit in bytes.
    ///   - codec: Says how values are encoded. One that cannot be encoded is refused as larger than any limit.
    /// - Returns: The limit.
    public static func encodedBytes(_ total: Int, by codec: Codec<Value>) -> MemoryLimit {
        .cost(total) { value in (try? codec.encode(value).count) ?? .max }
    }
}

extension MemoryLimit where Value: Codable {
    /// Values of at most this many bytes together, as JSON.
    public static func encodedBytes(_ total: Int) -> MemoryLimit {
        .encodedBytes(total, by: .json)
    }
}

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
