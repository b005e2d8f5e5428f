extension CacheLevel {
    /// The events of this cache from now on, in all its levels.
    ///
    /// ```swift
    /// let events = products.observe()
    /// for await event in events {
    ///     logger.debug("\(event)", metadata: ["dropped": "\(events.dropped)"])
    /// }
    /// ```
    ///
    /// Levels put each event into a buffer as it happens, and do no more than that. A hit costs one to two nanoseconds
    /// more even while hits are not observed. Events of one key arrive in order as far as one thread makes them.
    ///
    /// The events include those of the levels below: events of a Redis client that several caches share reach the
    /// observers of each of them. A level of your own makes no events.
    ///
    /// - Parameters:
    ///   - kinds: The kinds to observe; by default all but hits.
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
