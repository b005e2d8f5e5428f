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
