extension TwoWayTransformer where Input == [UInt8] {
    /// A codec as a transformer of levels that keep bytes, compression and protection included.
    ///
    /// The bytes stand alone, without the codec's number and the schema's. A protection is not bound to a key: a user
    /// who may write the bytes can move them to another one. The protection of a ``KeyAwareTwoWayTransformer`` is bound
    /// to the key.
    public init(_ codec: Codec<Output>) {
        self.init {
            try codec.decode($0)
        } inverse: {
            try codec.encode($0)
        }
    }
}

extension KeyAwareTwoWayTransformer where Key: KeyRepresentable, Input == [UInt8] {
    /// A codec as a transformer of levels that keep bytes, compression and protection included.
    ///
    /// The bytes stand alone, without the codec's number and the schema's. A protection is bound to the key: a value
    /// that was moved to another one cannot be decoded. Keys that the levels below make equal, and so share an entry,
    /// are still different here.
    ///
    /// ```swift
    /// let users = bytes.transformValues(KeyAwareTwoWayTransformer(Codec<User>.cbor.encrypted(with: keys)))
    /// ```
    @_disfavoredOverload
    public init(_ codec: Codec<Output>) {
        self.init { key, bytes in
            try codec.decode(bytes, context: key.keyBytes)
        } inverse: { key, value in
            try codec.encode(value, context: key.keyBytes)
        }
    }
}

extension TwoWayTransformer where Input == [UInt8], Output: Codable {
    /// Bytes that are JSON, and the values that they stand for.
    public static var json: TwoWayTransformer { TwoWayTransformer(.json) }

    /// Bytes that are CBOR (RFC 8949), and the values that they stand for.
    public static var cbor: TwoWayTransformer { TwoWayTransformer(.cbor) }

    /// Bytes that are a binary property list, and the values that they stand for.
    public static var propertyList: TwoWayTransformer { TwoWayTransformer(.propertyList) }
}

extension TwoWayTransformer where Input == [UInt8], Output == String {
    /// Bytes and the text that they are; either direction throws for what it cannot express.
    public static func text(_ encoding: TextEncoding = .utf8) -> TwoWayTransformer {
        TwoWayTransformer {
            try encoding.decode($0)
        } inverse: {
            try encoding.encode($0)
        }
    }
}

extension CacheLevel where Value == [UInt8] {
    /// This level, which keeps bytes, as one of values.
    ///
    /// ```swift
    /// let products = bytes.transformValues(.cbor, as: Product.self)
    /// ```
    ///
    /// - Parameters:
    ///   - codec: How values are encoded.
    ///   - type: The type of the values.
    /// - Returns: The level with its values.
    public func transformValues<Other: Sendable>(
        _ codec: Codec<Other>,
        as type: Other.Type
    ) -> TransformedValues<Self, Other> {
        transformValues(TwoWayTransformer(codec))
    }

    /// This level, which keeps bytes, as one of the values of a codec.
    ///
    /// Disfavoured, so that `.transformValues(.json)` means the transformer of that name.
    @_disfavoredOverload
    public func transformValues<Other: Sendable>(_ codec: Codec<Other>) -> TransformedValues<Self, Other> {
        transformValues(TwoWayTransformer(codec))
    }
}
