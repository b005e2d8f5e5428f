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
