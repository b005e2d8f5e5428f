/// Entries that are fetched anew in the background: at most one fetch a key, with a pause after one that was in vain.
package final class Refreshes<Key: Hashable & Sendable>: Sendable {
    private let flights = Flights<Key, Void>()
    private let pauses = Pauses<Key>()

    package init() {}

    /// How many are running now.
    package var count: Int { flights.count }

    /// Starts to fetch a key anew, unless that is under way or was in vain just now.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - work: Fetches; returns whether there is a fresh entry now. It tells the hint when asking again makes sense.
    package func launch(_ key: Key, _ work: @escaping @Sendable (RetryHint) async throws -> Bool) {
        guard !isPaused(key, at: .now) else { return }
        flights.launch(key) { [self] in
            let hint = RetryHint()
            do {
                if try await work(hint) { pauses.end(key) } else { pauses.pause(key) }
            } catch {
                pause(key, for: hint.delay ?? (error as? CacheError)?.retryAfter)
            }
        }
    }

    /// Whether asking for a key was in vain just now.
    package func isPaused(_ key: Key, at now: MonotonicInstant) -> Bool { pauses.left(for: key, at: now) != nil }

    /// Asking for a key was in vain.
    package func pause(_ key: Key, for delay: Duration?) { pauses.pause(key, for: delay) }

    /// Waits until none is running.
    package func drain(within limit: Duration) async { await flights.drain(within: limit) }
}
