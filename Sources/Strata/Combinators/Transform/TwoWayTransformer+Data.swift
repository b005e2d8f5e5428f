#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension TwoWayTransformer where Input == Data {
    /// A codec as a transformer of levels that keep `Data`, compression and protection included.
    ///
    /// The bytes stand alone, without the codec's number and the schema's. A protection is not bound to a key.
    @_disfavoredOverload
    public init(_ codec: Codec<Output>) {
        self.init {
            try codec.decode(Array($0))
        } inverse: {
            Data(try codec.encode($0))
        }
    }
}

extension CacheLevel where Value == Data {
    /// This level, which keeps `Data`, as one of values.
    ///
    /// ```swift
    /// let products = data.transformValues(.cbor, as: Product.self)
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

    /// This level, which keeps `Data`, as one of the values of a codec.
    @_disfavoredOverload
    public func transformValues<Other: Sendable>(_ codec: Codec<Other>) -> TransformedValues<Self, Other> {
        transformValues(TwoWayTransformer(codec))
    }
}
