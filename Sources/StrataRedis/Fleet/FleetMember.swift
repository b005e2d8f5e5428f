public import Logging
public import Strata

#if ServiceLifecycle
public import ServiceLifecycle
#endif

/// Lets this process be seen by `stratactl`: lists it among the instances of a keyspace, and answers questions about
/// it.
///
/// ```swift
/// let member = FleetMember()
/// member.add(products, of: level, memory: memory)
/// await member.run()  // or give it to a ServiceGroup
/// ```
///
/// An instance tells its name, host, process and release, how long it has been listed, its counters by level, the state
/// of its breakers and its link, how long fetches and calls to Redis take, and the hottest keys in its memory. Of an
/// entry in its memory it tells when the entry ends, the stamp of its write, and when the instance last heard of
/// changes. It never tells a value. The user who asks needs the right to publish on the channel of the keyspace, as a
/// cache and ``AccessRules/Purpose/inspect`` have it. The instance itself needs no more than a cache does.
///
/// A new instance can fill its memory with the keys that are hot in others that run a member; see
/// ``Strata/CacheLevel/warm(fromInstancesOf:_:reading:)``.
///
/// It also reads keys through the cache on request, which `stratactl warm` sends: at most ``warmRate`` a second, so
/// that a user who may publish on the channel costs the source no more than by invalidating.
///
/// It writes one record of a few KiB every five seconds, and answers 20 questions a second at most, with 32 KiB at most
/// each; four of them with the hottest keys, of 256 KiB at most. Records vanish 15 s after the last one. Failures do
/// not affect the cache: the member tries again, and logs them once.
public final class FleetMember: Sendable {
    /// How often the instance writes its record.
    public let interval: Duration
    /// How many keys a second, of each cache, the instance reads on request.
    public let warmRate: Int
    private let logger: Logger?
    private let state = Locked(State())

    private struct State: Sendable {
        var registrations: [FleetRegistration] = []
        /// Takes those that are added while the member runs.
        var feed: AsyncStream<FleetRegistration>.Continuation?
    }

    /// A member without a cache.
    ///
    /// - Parameters:
    ///   - interval: How often the instance writes its record; within 1 to 60 seconds, 5 seconds by default. Up to a
    ///     fifth less, at random.
    ///   - warmRate: How many keys a second, of each cache, the instance reads on request; 0 to 1000, 50 by default. 0
    ///     reads none.
    ///   - logger: Gets a line when the instance cannot be listed, and when it can again.
    public init(interval: Duration = .seconds(5), warmRate: Int = 50, logger: Logger? = nil) {
        self.interval = min(max(interval, .seconds(1)), .seconds(60))
        self.warmRate = min(max(warmRate, 0), 1000)
        self.logger = logger
    }

    /// Adds a cache, before ``run()`` or while it runs.
    ///
    /// The member keeps it alive until ``remove(_:)``.
    ///
    /// Keys are looked up in memory by their bytes. That works for key types of the library, such as `String`, `Int`
    /// and `UUID`, and for types with such a raw value; for others `stratactl why` says that it does not know.
    ///
    /// - Parameters:
    ///   - cache: Usually the whole composition: the instance tells its levels and counters.
    ///   - level: Its level in Redis, which names the keyspace and hears of changes.
    ///   - memory: Its memory, composed over the level; without it the instance tells only counters of memory.
    public func add<Key: KeyRepresentable, Value: Sendable>(
        _ cache: some CacheLevel<Key, Value>,
        of level: RedisLevel<Key, Value>,
        memory: MemoryLevel<Key, Value>? = nil
    ) {
        let warmer = KeyWarmer(rate: warmRate) { bytes in
            guard Key.isReadable, let key = Key.reading(bytes) else { return .unreadable }
            guard !cache.lacksSource else { return .sourceless }
            do {
                let (value, trace) = try await cache.getWithTrace(key)
                guard value != nil else { return .absent }
                return trace.steps.contains { $0.event == .fetched } ? .fetched : .found
            } catch {
                return .failed
            }
        }
        let registration = FleetRegistration(
            level.redis,
            level.keyspace,
            level.coherence == .tracking ? level.shared : nil,
            interval: interval,
            logger: logger,
            warmer: warmer
        ) {
            cache.label
        } find: { bytes in
            guard let memory, Key.isReadable else { return MemoryFinding(.unknown) }
            guard let key = Key.reading(bytes), let glimpse = memory.glimpse(key) else { return MemoryFinding(.absent) }
            return MemoryFinding(glimpse, level.shared.gate, by: level.redis.clock)
        } mostHit: { most in
            memory?.mostHit(most).map(\.keyBytes)
        } hottest: { most in
            memory?.hottest(most).map(\.keyBytes)
        }
        let feed = state.withLock { state in
            state.registrations.append(registration)
            return state.feed
        }
        feed?.yield(registration)
    }

    /// Removes the caches of a keyspace: they are released, and the instance is listed there no longer.
    ///
    /// While the member runs it leaves the list in the background. A named cache that was removed lives until this is
    /// called, too.
    ///
    /// - Parameter keyspace: The keyspace of their levels.
    /// - Returns: Whether there was such a cache.
    @discardableResult
    public func remove(_ keyspace: Keyspace) -> Bool {
        let removed = state.withLock { state in
            let removed = state.registrations.filter { $0.keyspace == keyspace }
            state.registrations.removeAll { $0.keyspace == keyspace }
            return removed
        }
        for registration in removed { registration.end() }
        return !removed.isEmpty
    }

    /// Lists the instance and answers, until the task is cancelled or, in a `ServiceGroup`, until graceful shutdown
    /// begins.
    ///
    /// Returns without an error in both cases. After graceful shutdown the instance is no longer listed; after a
    /// cancellation its record vanishes by itself.
    public func run() async {
        let added = begin()
        let left = await withTaskGroup(of: Void.self, returning: [FleetRegistration].self) { group in
            group.addTask {
                await withDiscardingTaskGroup { tasks in
                    for await registration in added { tasks.addTask { await Self.tell(of: registration) } }
                }
            }
            _ = await Lifetime.end()
            // Before the tasks end: what is removed from now on still leaves the list.
            let left = state.withLock { state in
                state.feed = nil
                return state.registrations
            }
            group.cancelAll()
            return left
        }
        guard !Task.isCancelled else { return }
        await withTaskGroup { group in
            for registration in left { group.addTask { await registration.leave() } }
        }
    }

    /// The caches that there are, and then those that are added.
    private func begin() -> AsyncStream<FleetRegistration> {
        let (added, feed) = AsyncStream.makeStream(of: FleetRegistration.self)
        let first = state.withLock { state in
            state.feed = feed
            return state.registrations
        }
        for registration in first { feed.yield(registration) }
        return added
    }

    /// Tells of a cache until the task is cancelled, or the cache is removed.
    private static func tell(of registration: FleetRegistration) async {
        await registration.run()
        guard registration.isRemoved else { return }
        // The member may end at the same time, which cancels this task.
        await Task { await registration.leave() }.value
    }
}

#if ServiceLifecycle
extension FleetMember: Service {}
#endif
