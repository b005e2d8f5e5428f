/// Entries that are fetched anew in the background: at most one fetch for each key, and a pause after one that failed.
///
/// A pause is for one old entry: what has taken its place may be asked for anew.
package final class Refreshes<Key: Hashable & Sendable, Old: Hashable & Sendable>: Sendable {
    private let flights: Flights<Key, Void>
    /// Those who wait for fetches that callers have left; a slow source must leave room for refreshes.
    private let late: Flights<LateFetch<Key>, Void>
    private let pauses: Pauses<Old>
    private let clock: CacheClock

    /// - Parameters:
    ///   - clock: What limits and pauses are counted by.
    ///   - completionLimit: How long a fetch may run before it is cancelled; asked when it begins.
    package init(_ clock: CacheClock, completionLimit: @autoclosure @escaping @Sendable () -> Duration) {
        self.clock = clock
        flights = Flights(clock: clock, completionLimit: completionLimit())
        late = Flights(clock: clock, completionLimit: completionLimit())
        pauses = Pauses(clock: clock)
    }

    /// How many are running now.
    package var count: Int { flights.count }

    /// Starts to fetch a key anew, unless a fetch is running or failed a moment ago.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - old: The old entry of the key.
    ///   - priority: The priority of the fetch; that of the caller by default.
    ///   - work: Fetches; returns whether there is a fresh entry now, and tells the hint when asking again makes sense.
    package func launch(
        _ key: Key,
        _ old: Old,
        priority: TaskPriority? = nil,
        _ work: @escaping @Sendable (RetryHint) async throws -> Bool
    ) {
        guard !isPaused(old, at: clock.now) else { return }
        flights.launch(key, priority: priority) { [self] in
            let hint = RetryHint()
            do {
                if try await work(hint) { pauses.end(old) } else { pauses.pause(old) }
            } catch {
                pause(old, for: hint.delay ?? (error as? CacheError)?.retryAfter)
            }
        }
    }

    /// Waits for a fetch that goes on without its read, unless that fetch has such a waiter already.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - flight: The fetch, which `work` keeps.
    ///   - work: Waits, and keeps what comes.
    package func collect(
        _ key: Key,
        of flight: ObjectIdentifier?,
        _ work: @escaping @Sendable () async throws -> Void
    ) {
        late.launch(LateFetch(key: key, flight: flight), work)
    }

    /// Whether a fetch of what is to take an entry's place failed a moment ago.
    package func isPaused(_ old: Old, at now: MonotonicInstant) -> Bool { pauses.left(for: old, at: now) != nil }

    /// A fetch of what is to take an entry's place has failed.
    package func pause(_ old: Old, for delay: Duration?) { pauses.pause(old, for: delay) }

    /// Waits until none is running.
    package func drain(within limit: Duration) async {
        await concurrently { [late] in
            await late.drain(within: limit)
        } and: {
            await flights.drain(within: limit)
        }
    }
}

/// A fetch that has a waiter without a read; a later fetch of its key does not wait for it.
private struct LateFetch<Key: Hashable & Sendable>: Hashable, Sendable {
    var key: Key
    var flight: ObjectIdentifier?
}
