/// What happens in a cache, as it happens, for one loop.
///
/// Made by ``CacheLevel/observe(_:buffering:)``. Events wait in a buffer of limited size; while it is full, new ones are dropped and
/// counted. The cache does not wait for the loop. Observing ends with the loop's task, and when neither the sequence nor a loop over
/// it is held any more.
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

    /// Begins to look; for one loop.
    public func makeAsyncIterator() -> AsyncStream<CacheEvent>.Iterator { stream.makeAsyncIterator() }
}

extension CacheLevel {
    /// What happens in this cache from now on, in all its levels.
    ///
    /// ```swift
    /// let events = products.observe()
    /// for await event in events {
    ///     logger.debug("\(event)", metadata: ["dropped": "\(events.dropped)"])
    /// }
    /// ```
    ///
    /// Levels tell what they do while they do it, and no more than put it into a buffer. A hit costs one to two nanoseconds more
    /// while nobody observes hits. Events of one key come in their order as far as one thread makes them.
    ///
    /// The level tells its events from below itself, too: those of a client of Redis, which caches share, come to the observers of
    /// each of them. A level of your own tells nothing.
    ///
    /// - Parameters:
    ///   - kinds: What to be told; all but hits if nothing is said.
    ///   - limit: How many events may wait; further ones are dropped, and counted. 1 at least.
    /// - Returns: The events.
    public func observe(_ kinds: Set<CacheEvent.Kind> = .allButHits, buffering limit: Int = 1024) -> CacheEvents {
        let (stream, continuation) = AsyncStream.makeStream(
            of: CacheEvent.self,
            bufferingPolicy: .bufferingOldest(Swift.max(limit, 1))
        )
        let drops = Tally()
        // One hub may be part of several levels.
        let hubs = Set(label.nodes.flatMap(\.label.hubs))
        let registered = hubs.map { hub in
            let id = hub.add(kinds) { event in
                if case .dropped = continuation.yield(event) { drops.add() }
            }
            return (hub, id)
        }
        continuation.onTermination = { _ in
            for (hub, id) in registered { hub.remove(id) }
        }
        return CacheEvents(stream, drops)
    }
}
