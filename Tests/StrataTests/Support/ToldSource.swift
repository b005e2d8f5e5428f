import Strata
import StrataTesting

/// A source that does what a test tells it to: it counts, can be held, and answers with whatever outcome is set.
final class ToldSource: Sendable {
    struct Failure: Error, Equatable {
        var retryAfter: Duration?
    }

    private struct State {
        var calls = 0
        var outcome: FetchOutcome<String> = .value("value")
        var olds: [String?] = []
        var cancellations = 0
        var gate: AsyncGate?
    }

    private let state = Locked(State())

    var calls: Int { state.withLock { $0.calls } }

    /// The old values that fetches were told of.
    var olds: [String?] { state.withLock { $0.olds } }

    var cancellations: Int { state.withLock { $0.cancellations } }

    /// Returns when a fetch has seen its cancellation, which comes when the task that was cancelled runs again.
    func cancelled() async throws {
        while cancellations == 0 { try await nextTurn() }
    }

    func answer(_ outcome: FetchOutcome<String>) { state.withLock { $0.outcome = outcome } }

    func fail() { answer(.failure(Failure())) }

    func hold(_ gate: AsyncGate?) { state.withLock { $0.gate = gate } }

    func fetch(_ key: String, _ context: FetchContext<String>) async throws -> FetchOutcome<String> {
        let (gate, outcome) = state.withLock { state in
            state.calls += 1
            state.olds.append(context.old)
            return (state.gate, state.outcome)
        }
        do {
            try await gate?.pass()
        } catch {
            state.withLock { $0.cancellations += 1 }
            throw error
        }
        return outcome
    }

    func level(
        _ freshness: FreshnessPolicy = FreshnessPolicy(),
        failureBackOff: ClosedRange<Duration>? = nil
    ) -> Source<String, String> {
        Source(freshness: freshness, failureBackOff: failureBackOff) { key, context in
            try await self.fetch(key, context)
        }
    }
}

extension Entry where Value == String {
    /// An entry whose times are given relative to now, in seconds.
    static func aged(
        _ value: String,
        fresh: Double,
        stale: Double = 0,
        refresh: Double? = nil,
        revalidate: Double? = nil,
        stored: Double = -100,
        version: EntryVersion = .none
    ) -> Entry {
        func instant(_ seconds: Double) -> MonotonicInstant { MonotonicInstant.now.advanced(by: .seconds(seconds)) }
        return Entry(
            .value(value),
            freshUntil: instant(fresh),
            staleUntil: instant(stale),
            refreshAt: instant(refresh ?? fresh),
            revalidateUntil: instant(revalidate ?? fresh),
            storedAt: instant(stored),
            version: version
        )
    }
}
