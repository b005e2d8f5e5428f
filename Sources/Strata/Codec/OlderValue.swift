/// The stored value of an older release, after its protection and compression are undone.
public struct OlderValue: Sendable, Hashable {
    /// The schema number under which it was stored, lower than the present one.
    public let schema: UInt32
    /// The number of the codec that has made the bytes: always that of the present codec.
    public let codec: UInt8
    /// The codec's bytes.
    public let bytes: [UInt8]

    /// A value of its parts.
    public init(schema: UInt32, codec: UInt8, bytes: [UInt8]) {
        self.schema = schema
        self.codec = codec
        self.bytes = bytes
    }
}

extension Codec {
    /// This codec with a migration of values with older schema numbers.
    ///
    /// ```swift
    /// let codec = Codec<Product>.json
    ///     .migrating { older in
    ///         guard older.schema == 1 else { return nil }
    ///         return try Product(Codec<ProductOfRelease1>.json.decode(older.bytes))
    ///     }
    /// ```
    ///
    /// The result is used and not stored, so that an older release can still read its value.
    ///
    /// - Parameter migration: Returns the value, or `nil` for a miss. An error is a miss, too.
    /// - Returns: The codec with its migration.
    public func migrating(_ migration: @escaping @Sendable (OlderValue) throws -> Value?) -> Codec {
        var codec = self
        codec.migration = migration
        return codec
    }

    /// This codec under a schema number, for types that are not ``SchemaVersioned``.
    public func schema(_ number: UInt32) -> Codec {
        var codec = self
        codec.schema = number
        return codec
    }
}
