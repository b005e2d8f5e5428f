import Strata
import StrataTesting

/// A source whose values have tags, that counts its reads and can be held.
final class TaggedSource: Fetcher {
    private struct State {
        var values: [String: (value: Int, tags: [String])]
        var reads = 0
        var gate: AsyncGate?
    }

    private let state: Locked<State>

    init(_ values: [String: (value: Int, tags: [String])]) {
        state = Locked(State(values: values))
    }

    var reads: Int { state.withLock { $0.reads } }

    func put(_ value: Int, for key: String, tags: [String]) { state.withLock { $0.values[key] = (value, tags) } }

    /// Holds every read after it has taken its value, until the gate opens.
    func hold(_ gate: AsyncGate?) { state.withLock { $0.gate = gate } }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        let (found, gate) = state.withLock { state in
            state.reads += 1
            return (state.values[key], state.gate)
        }
        try await gate?.pass()
        return found.map { Entry(.value($0.value), tags: $0.tags) }
    }
}
