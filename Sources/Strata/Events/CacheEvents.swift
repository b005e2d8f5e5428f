/// The events of a cache, as they happen, for one loop.
///
/// Made by ``CacheLevel/observe(_:buffering:)``. Events wait in a buffer of limited size; while it is full, new ones
/// are dropped and counted. The cache does not wait for the loop. Observing ends with the loop's task, or with the last
/// reference to the sequence and its loop.
public struct CacheEvents: AsyncSequence, Sendable {
    /// What the sequence consists of.
    public typealias Element = CacheEvent

    private let stream: AsyncStream<CacheEvent>
    private let drops: Tally

    init(_ stream: AsyncStream<CacheEvent>, _ drops: Tally) {
        self.stream = stream
        self.drops = drops
    }

    /// How many events were dropped, because the loop was slower than the cache.
    public var dropped: Int { drops.count }

    /// Begins the loop; call it once.
    public func makeAsyncIterator() -> AsyncStream<CacheEvent>.Iterator { stream.makeAsyncIterator() }
}
