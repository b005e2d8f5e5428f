/// Entries that are fetched anew in the background: at most one fetch a key, with a pause after one that was in vain.
///
/// Pauses double from 100 ms to 5 s, or last as long as the source has asked for. At most 4 096 keys are remembered.
package final class Refreshes<Key: Hashable & Sendable>: Sendable {
    private struct Pause {
        var until: MonotonicInstant
        var step: Duration
    }

    private static var capacity: Int { 4096 }

    private let flights: Flights<Key, Void>
    private let pauses = Locked<[Key: Pause]>([:])

    package init() {
        flights = Flights()
    }

    /// How many are running now.
    package var count: Int { flights.count }

    /// Starts to fetch a key anew, unless that is under way or was in vain just now.
    package func launch(_ key: Key, _ work: @escaping @Sendable () async throws -> Bool) {
        guard !isPaused(key, at: .now) else { return }
        flights.launch(key) { [self] in
            do {
                if try await work() { resume(key) } else { pause(key) }
            } catch {
                pause(key, after: error)
            }
        }
    }

    /// Whether asking for a key was in vain just now.
    package func isPaused(_ key: Key, at now: MonotonicInstant) -> Bool {
        pauses.withLock { pauses in pauses[key].map { now < $0.until } ?? false }
    }

    /// Asking for a key was in vain.
    package func pause(_ key: Key, after error: (any Error)? = nil) {
        let now = MonotonicInstant.now
        pauses.withLock { pauses in
            if pauses.count >= Self.capacity { pauses = pauses.filter { now < $0.value.until } }
            guard pauses[key] != nil || pauses.count < Self.capacity else { return }
            let step = pauses[key].map { min($0.step * 2, .seconds(5)) } ?? .milliseconds(100)
            let wait = min((error as? CacheError)?.retryAfter ?? step, .seconds(3600))
            pauses[key] = Pause(until: now.advanced(by: wait), step: step)
        }
    }

    /// Asking for a key was not in vain.
    package func resume(_ key: Key) {
        pauses.withLock { pauses in
            if !pauses.isEmpty { pauses[key] = nil }
        }
    }

    /// Forgets all pauses.
    package func resumeAll() { pauses.withLock { $0.removeAll() } }

    package func drain(within limit: Duration) async { await flights.drain(within: limit) }
}
