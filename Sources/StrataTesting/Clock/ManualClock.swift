package import Strata

/// A clock that a test moves by hand: for the caches that are made in its scope, and for whatever else sleeps on it.
///
/// ```swift
/// let clock = ManualClock()
/// let shop = try clock.driving { try Shop(server.url) }  // every level, source and client in it goes by the clock
///
/// #expect(try await shop.products.get(1) == "product 1")
/// try clock.advance(by: .seconds(61))
/// // A value that is fresh for a minute is stale now.
/// ```
///
/// **It stands still** until the test moves it. Nothing that a cache measures by its clock ends by itself, no matter
/// how slow the machine is: no lifetime, no stale window, no limit on a fetch, no back-off, no pause of a breaker.
///
/// **What others wait for goes on.** Pauses before a retry, the window of a batch, leases and the waits for them, and
/// drains end by themselves, or when the clock is moved. So nothing hangs because a test does not move the clock.
///
/// **A move is one jump**, as if the machine had slept. Whatever is due in between happens after it, once. Move in
/// steps if that matters.
///
/// What waits for a server or a wire goes by the system's clock: timeouts of connections and commands, budgets of
/// calls, trust in the invalidation link.
///
/// Clocks do not disturb each other: tests that run at the same time have one each.
public final class ManualClock: Clock {
    /// A point on the clock: the time since it was made.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public var offset: Duration

        /// The instant this long after the clock was made.
        public init(offset: Duration) { self.offset = offset }

        /// The instant a duration later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// The time to another instant.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Earlier comes first.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    let time = ManualTime()

    /// A clock that shows zero.
    public init() {}

    /// What the clock shows.
    public var now: Instant { Instant(offset: .nanoseconds(time.moves)) }

    /// The shortest span that the clock can measure.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The clock as caches have it.
    package var cacheClock: CacheClock { CacheClock(moved: time) }

    // MARK: Making caches

    /// Makes this the clock of every level, source and client that `body` makes.
    ///
    /// Each takes the clock when it is made and keeps it. Those that are made outside, or in a detached task, use the
    /// system's clock; levels with different clocks cannot be composed.
    ///
    /// - Parameter body: Makes the caches.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func driving<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try cacheClock.governing(body)
    }

    /// Makes this the clock of every level, source and client that `body` makes.
    ///
    /// The same as the form for closures that do not suspend. It includes what child tasks of `body` make.
    ///
    /// - Parameter body: Makes the caches.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func driving<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await cacheClock.governing(body)
    }

    // MARK: Moving

    /// Moves the clock.
    ///
    /// Wakes the sleeps whose time has come, the earliest first, and does the work that is due in caches, such as
    /// removing expired entries from memory; woken callers go on in their own tasks afterwards.
    ///
    /// Redis goes on in real time and does not hear of the move. A cache still judges its entries in Redis by the
    /// clock; see ``advance(by:with:)-(_,RedisServer)`` for leases.
    ///
    /// - Parameter duration: How far: zero or more, and 100 years at most in total.
    /// - Throws: ``HarnessError/Code/invalidTime``, and then nothing has changed.
    public func advance(by duration: Duration) throws(HarnessError) {
        _ = try time.keptKeys(after: duration)
        try time.move(by: duration)
    }

    /// Moves the clock, and lets the same time pass at a Redis server of the test.
    ///
    /// ```swift
    /// try await instance.kill()  // it dies with a lease
    /// try await clock.advance(by: .seconds(3), with: server)  // the lease has ended
    /// ```
    ///
    /// The time to live of each key shrinks by that time, and the key is removed when nothing is left. That matters for
    /// leases, for back-offs that instances share, and for keys of your own. Two kinds of keys keep their time to live:
    ///
    /// - Keys that a client of this process keeps alive, such as the lease of a running fetch: it would have been
    ///   renewed, up to ``/StrataRedis/LeaseOptions/renewalLimit``.
    /// - Entries of caches that have longer to live than that. They say themselves when they end, and the clock
    ///   decides.
    ///
    /// Round trips: a few for each thousand keys, and one for each key with a time to live.
    ///
    /// - Parameters:
    ///   - duration: How far: zero or more, and 100 years at most in total.
    ///   - server: The server; a private one, since this affects all its keys.
    /// - Throws: ``HarnessError``: the server cannot be reached; ``HarnessError/Code/invalidTime``, and then nothing
    ///   has changed.
    public func advance(by duration: Duration, with server: RedisServer) async throws {
        try await advance(by: duration, with: [server])
    }

    /// Moves the clock, and lets the same time pass at Redis servers of the test: those of a replication or a cluster.
    ///
    /// The same as the form for a single server.
    ///
    /// - Parameters:
    ///   - duration: How far: zero or more, and 100 years at most in total.
    ///   - servers: The servers; replicas follow their primaries.
    /// - Throws: ``HarnessError``: a server cannot be reached; ``HarnessError/Code/invalidTime``, and then nothing has
    ///   changed.
    public func advance(by duration: Duration, with servers: [RedisServer]) async throws {
        let kept = try time.keptKeys(after: duration)
        for server in servers { try await server.age(by: duration, sparing: kept) }
        try time.move(by: duration)
    }

    // MARK: Sleeping

    /// How many sleeps are under way.
    public var sleeping: Int { time.sleeping }

    /// Sleeps until the clock has been moved to `deadline`; throws `CancellationError` when the task is cancelled
    /// meanwhile.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await time.wait(until: time.start.advanced(by: deadline.offset))
    }

    /// Returns when `count` sleeps have begun since the clock was made, whether or not they are over, or when the task
    /// is cancelled.
    ///
    /// Sleeps are the waits of one caller: pauses before a retry, windows of batches, limits by `timeout(_:)`, and your
    /// own sleeps on the clock. A limit of a policy, and a wait for another instance, do not count.
    public func sleepers(_ count: Int) async { await time.begun.wait(for: count) }
}
