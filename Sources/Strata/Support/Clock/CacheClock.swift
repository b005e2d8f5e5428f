/// The clock that a cache goes by: the system's or, in a test, one that the test moves.
///
/// Levels, sources and clients take ``current`` when they are made, and keep it. In a service that is the system's
/// clock. `ManualClock` of `StrataTesting` is another one for what is made in its scope.
///
/// What belongs to a cache goes by this clock. What waits for a server or a wire goes by the system's:
/// `MonotonicInstant.now`, `Task.pause(for:)` and a plain `Watch` say so.
///
/// A moved clock shows two times, because some things must stand still until a test moves them, and some must go on:
///
/// | | ``now`` | `running` |
/// |---|---|---|
/// | between two moves | stands still | goes on with the system's |
/// | for | lifetimes, limits, back-off: what is judged by an instant | pauses and leases: what others wait for |
///
/// Of the system's clock they are the same.
///
/// A level of your own that judges lifetimes goes by it, too:
///
/// ```swift
/// final class FileLevel: CacheLevel {
///     let clock: CacheClock? = .current
///
///     func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
///         guard let entry = try await read(key), let now = clock?.now, entry.isUsable(at: now) else { return nil }
///         return entry
///     }
/// }
/// ```
public struct CacheClock: Sendable {
    /// Whether a test moves it: all that a hit in memory asks.
    @usableFromInline
    let isMoved: Bool
    /// What a test moves; `nil` for the system's clock.
    package let moved: (any MovedTime)?

    @TaskLocal private static var scoped = CacheClock.system

    package init(moved: (any MovedTime)?) {
        self.moved = moved
        isMoved = moved != nil
    }

    /// The system's monotonic clock.
    public static let system = CacheClock(moved: nil)

    /// The clock of what is made now: the system's, except in the scope of a test's clock.
    public static var current: CacheClock { scoped }

    /// Makes this the clock of what `body` makes.
    package func governing<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let outcome: Swift.Result<Result, Failure> = Self.$scoped.withValue(self) {
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        return try outcome.get()
    }

    /// Makes this the clock of what `body` makes.
    package func governing<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await Self.$scoped.withValue(self, operation: body)
    }

    // MARK: Instants

    /// The present, by which lifetimes and limits are judged.
    @inlinable
    public var now: MonotonicInstant { isMoved ? shown : .now }

    /// The same, up to 10 ms ago where that is cheaper to know.
    @inlinable
    package var coarse: MonotonicInstant { isMoved ? shown : .coarse }

    /// The present, where the system's is known already.
    ///
    /// Costs a branch.
    @inlinable
    @inline(__always)
    package func now(at system: MonotonicInstant) -> MonotonicInstant { isMoved ? shown : system }

    /// What a moved clock shows.
    @usableFromInline
    @inline(never)
    var shown: MonotonicInstant { moved?.now ?? .now }

    /// The present of what goes on by itself.
    package var running: MonotonicInstant { running(at: .now) }

    /// The same, where the system's is known already.
    package func running(at system: MonotonicInstant) -> MonotonicInstant {
        moved.map { system.advanced(byNanoseconds: $0.moves) } ?? system
    }

    /// How much longer than it lives an entry stays in a store whose own time goes on while this clock stands still.
    ///
    /// Entries say themselves when they end.
    package var storeMargin: Duration { moved == nil ? .zero : .seconds(600) }

    // MARK: Waiting

    /// Suspends for a time, or until the task is cancelled.
    ///
    /// On a moved clock it ends by itself, too: the test need not move the clock for it.
    ///
    /// - Throws: `CancellationError`.
    public func pause(for duration: Duration) async throws {
        if let moved { try await moved.pause(for: duration) } else { try await Task.pause(for: duration) }
    }

    /// The same for what is no caller's pause: a test that waits for pauses does not count it.
    package func rest(for duration: Duration) async throws {
        if let moved { try await moved.rest(for: duration) } else { try await Task.pause(for: duration) }
    }

    /// Suspends until ``now`` is an instant, or until the task is cancelled.
    ///
    /// - Throws: `CancellationError`.
    package func wait(until instant: MonotonicInstant) async throws {
        guard let moved else { return try await Task.pause(for: MonotonicInstant.now.duration(to: instant)) }
        try await moved.wait(until: instant)
    }
}

/// A clock equals only itself.
extension CacheClock: Hashable {
    /// Whether both are the same clock.
    public static func == (left: CacheClock, right: CacheClock) -> Bool { left.moved === right.moved }

    /// By identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(moved.map { ObjectIdentifier($0) }) }
}

extension CacheClock {
    /// The clock of a level that is made of others; `nil` when none of them has one.
    ///
    /// Entries bear instants, so levels that exchange them go by one clock. Stops the program when they do not: they
    /// were made partly in the scope of a test's clock and partly outside.
    package static func common(_ clocks: CacheClock?...) -> CacheClock? {
        let known = clocks.compactMap(\.self)
        precondition(
            known.allSatisfy { $0 == known[0] },
            "levels of one cache go by different clocks: make all of them, and their client, in one scope of the manual clock"
        )
        return known.first
    }
}
