internal import Strata

extension RedisLevel {
    /// Waits until the server answers and the link stands: for the start of a service, and for tests.
    ///
    /// You can use a level without it. Its first calls wait for the link by themselves, for 100 ms at most. Values that
    /// are read before the link stands are kept in memory for a short time only.
    ///
    /// - Parameter limit: How long to wait.
    /// - Throws: ``RedisError/Code/timeout`` with the reason, if there is one; `CancellationError`.
    public func ready(within limit: Duration = .seconds(10)) async throws {
        try await redis.answers(within: limit) { isTold ? nil : untrustedReason ?? "the link is not up yet" }
    }

    /// Whether the link tells of changes that others make, or no level listens.
    var isTold: Bool { coherence != .tracking || shared.isKnown }

    /// Waits for the link of a level that has just been made.
    func linkArrives() async {
        guard redis.begin() else { return }
        await CallBudget.charge { await shared.arrival.wait() }
    }

    /// The changes in the keyspace, as this instance hears of them.
    ///
    /// When an element arrives, memory above has dropped the key already. A slow reader loses the oldest elements.
    /// Nothing comes unless ``coherence`` is ``Coherence/tracking``. With ``TrackingMode/perKey`` only changes of keys
    /// that this instance has read come.
    ///
    /// - Parameter limit: How many elements wait at most for a reader.
    /// - Returns: The changes from now on. It ends with the task that reads it, with the level, and when the client is
    ///   shut down; at once if that has happened. Without a link it does not hear of the client's end.
    public func changes(bufferingNewest limit: Int = 256) -> AsyncStream<KeyspaceChange> {
        shared.stream(bufferingNewest: limit)
    }

    /// Why the link does not stand, for a person; `nil` while it does, and without a link.
    ///
    /// A permission that the server refuses is named.
    public var untrustedReason: String? { coherence == .tracking ? redis.cache.refusal : nil }
}
