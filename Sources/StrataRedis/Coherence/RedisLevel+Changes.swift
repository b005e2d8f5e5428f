extension RedisLevel {
    /// What this level's instance hears of changes in the keyspace, as it hears it.
    ///
    /// When an element arrives, memory above has let go of the key already. Of a slow reader's elements the oldest are
    /// dropped first. Nothing comes where ``coherence`` is not ``Coherence/tracking``.
    ///
    /// - Parameter limit: How many elements wait at most for a reader.
    /// - Returns: The changes from now on. Ending the task that reads ends it.
    public func changes(bufferingNewest limit: Int = 256) -> AsyncStream<KeyspaceChange> {
        let (stream, feed) = AsyncStream.makeStream(of: KeyspaceChange.self, bufferingPolicy: .bufferingNewest(limit))
        let number = shared.addObserver { feed.yield($0) }
        feed.onTermination = { [weak shared] _ in shared?.removeObserver(number) }
        return stream
    }

    /// Why this instance does not hear of changes at the moment, for a person; `nil` while it does, or does not want to.
    ///
    /// A permission that the server refuses is named.
    public var deafness: String? { coherence == .tracking ? redis.link.refusal : nil }
}
