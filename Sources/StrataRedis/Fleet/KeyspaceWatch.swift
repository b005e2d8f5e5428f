internal import Strata

/// What happens in a keyspace, as a tool hears of it.
package enum WatchEvent: Sendable, Hashable {
    /// Changes are told from now on.
    case listening
    /// Changes are not told until the link stands again.
    case lost
    /// The value of a key was written, has expired, or was removed or evicted.
    case changed(InspectedKey)
    /// An instance has removed a key.
    case removed(InspectedKey)
    /// A lease was taken or renewed, or has ended.
    case lease(InspectedKey)
    /// A fetch has ended without a value.
    case ended(InspectedKey)
    /// Tags were invalidated; they are escaped, and none are named when they were too many for a message.
    case tags([String])
    /// Everything was cleared.
    case cleared
    /// The database was flushed.
    case flushed
    /// So many events are left out, because they came faster than they were taken.
    case leftOut(Int)
}

/// Hears what happens in a keyspace, for tools: it listens as an instance does, and to the leases beside.
///
/// Nothing is written. In a cluster all primaries tell what is published, so the same message within a second counts
/// once.
package final class KeyspaceWatch: LinkListener, PartListener {
    private struct State: Sendable {
        var leftOut = 0
        var recent = RecentMessages(within: .seconds(1), upTo: 256)
        var standing: Set<KeyspacePart?> = []
    }

    private let redis: RedisClient
    private let keyspace: Keyspace
    private let events: AsyncStream<WatchEvent>
    private let feed: AsyncStream<WatchEvent>.Continuation
    private let state = Locked(State())

    /// - Parameters:
    ///   - redis: The server.
    ///   - keyspace: The keyspace.
    ///   - limit: How many events wait at most to be taken.
    package init(_ redis: RedisClient, _ keyspace: Keyspace, limit: Int = 10_000) {
        self.redis = redis
        self.keyspace = keyspace
        (events, feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(limit))
    }

    /// Listens while `body` runs, which gets the events.
    ///
    /// - Throws: What `body` throws.
    package func listening<Result>(_ body: (AsyncStream<WatchEvent>) async throws -> Result) async throws -> Result {
        let number = redis.cache.tell(self, of: keyspace)
        defer { redis.cache.tellNoMore(number) }
        redis.begin()
        return try await body(events)
    }

    /// Why nothing is told at the moment; `nil` while the link stands.
    package var refusal: String? { redis.cache.refusal }

    /// Tells an event, and before it how many were left out.
    private func tell(_ event: WatchEvent) {
        state.withLock { state in
            if state.leftOut > 0 {
                guard case .enqueued = feed.yield(.leftOut(state.leftOut)) else {
                    state.leftOut += 1
                    return
                }
                state.leftOut = 0
            }
            if case .dropped = feed.yield(event) { state.leftOut += 1 }
        }
    }

    private func isNews(_ message: [UInt8]) -> Bool {
        guard redis.isCluster else { return true }
        return state.withLock { $0.recent.isNews(message, at: .coarse) }
    }

    // MARK: What is told

    var isDivided: Bool { false }
    var hearsLeases: Bool { true }
    var hearsEverything: Bool { true }

    func changed(_ name: [UInt8]) {
        guard let key = InspectedKey(name: RedisKey(name), in: keyspace) else { return }
        tell(name.starts(with: keyspace.leases) ? .lease(key) : .changed(key))
    }

    func event(_ message: [UInt8], _ part: KeyspacePart?) {
        guard !TagEvent.isMeant(by: message) else {
            // In a cluster each part tells of it.
            guard part?.number ?? 0 == 0, let event = TagEvent(message), isNews(message) else { return }
            switch event.scope {
            case .everything: tell(.cleared)
            case .unknownTags: tell(.tags([]))
            case .tags(let names): tell(.tags(names.map { TagName.escaped($0.bytes) }))
            }
            return
        }
        guard let event = message.first.flatMap({ KeyspaceEvent(rawValue: $0) }),
            let key = InspectedKey(name: RedisKey(Array(message.dropFirst())), in: keyspace), isNews(message)
        else { return }
        tell(event == .invalidated ? .removed(key) : .ended(key))
    }

    func marksChanged(_ part: KeyspacePart?) {}

    func everythingChanged() { tell(.flushed) }

    func linkEstablished(trustedUntil: MonotonicInstant) { tell(.listening) }

    func linkTrusted(until: MonotonicInstant, told: MonotonicInstant) {}

    func linkLost() { tell(.lost) }

    // MARK: In a cluster

    func established(_ part: KeyspacePart?, trustedUntil: MonotonicInstant) {
        let isWhole = state.withLock { state in
            state.standing.insert(part).inserted && state.standing.count == redis.parts.count
        }
        if isWhole { tell(.listening) }
    }

    func trusted(_ part: KeyspacePart?, until: MonotonicInstant, told: MonotonicInstant) {}

    func lost(_ part: KeyspacePart?) {
        let wasWhole = state.withLock { state in
            let wasWhole = state.standing.count == redis.parts.count
            state.standing.remove(part)
            return wasWhole
        }
        if wasWhole { tell(.lost) }
    }

    func everythingChanged(_ part: KeyspacePart?) {
        if isNews(Array("flushed".utf8)) { tell(.flushed) }
    }
}
