/// A cache whose memory can be written to a file, for code that does not know its type.
protocol HibernatingLevel<Key, Value>: CacheLevel {
    // Declared again, so that the protocol can name them.
    associatedtype Key
    associatedtype Value

    func hibernate(to path: String, codec: Codec<Value>?, limits: HibernationLimits) async throws -> HibernationReport

    func restore(
        from path: String,
        codec: Codec<Value>?,
        unconfirmedUpTo maximumAge: Duration?,
        within limit: Duration,
        reading: (@Sendable ([UInt8]) -> Key?)?
    ) async throws -> RestorationReport
}

extension Composed: HibernatingLevel where Upper == MemoryLevel<Lower.Key, Lower.Value>, Lower.Key: KeyRepresentable {}
