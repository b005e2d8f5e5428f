import Logging
import Strata
import StrataTesting

/// A level that does what a test tells it to, and takes down what it was asked.
final class ProbeLevel: CacheLevel {
    enum Call: Equatable {
        case get(String)
        case set(String, Int)
        case remove(String)
        case removeAll
        case relieve(MemoryPressure)
    }

    struct Failure: Error, Equatable {
        let name: String
    }

    private struct State {
        var calls: [Call] = []
        var values: [String: Int] = [:]
        var getFailure: Failure?
        var setFailure: Failure?
        var removeFailure: Failure?
        var gets: AsyncGate?
        var sets: AsyncGate?
    }

    private let state = Locked(State())

    init(_ values: [String: Int] = [:]) {
        state.withLock { $0.values = values }
    }

    /// Tests do not fail because a machine is too busy to fill it within the time that reads have for that.
    func compose<Lower: CacheLevel<String, Int>>(
        _ lower: Lower,
        logger: Logger? = nil
    ) -> Composed<ProbeLevel, Lower> {
        compose(lower, fillWaitLimit: .seconds(600), logger: logger)
    }

    var calls: [Call] { state.withLock { $0.calls } }

    var gets: Int { calls.count { if case .get = $0 { true } else { false } } }

    var values: [String: Int] { state.withLock { $0.values } }

    func put(_ value: Int?, for key: String) { state.withLock { $0.values[key] = value } }

    func failGets(_ name: String?) { state.withLock { $0.getFailure = name.map { Failure(name: $0) } } }

    func failSets(_ name: String?) { state.withLock { $0.setFailure = name.map { Failure(name: $0) } } }

    func failRemoves(_ name: String?) { state.withLock { $0.removeFailure = name.map { Failure(name: $0) } } }

    /// Holds every get after it has read its value, until the gate opens.
    func holdGets(_ gate: AsyncGate?) { state.withLock { $0.gets = gate } }

    /// Holds every set before it writes, until the gate opens.
    func holdSets(_ gate: AsyncGate?) { state.withLock { $0.sets = gate } }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        let (gate, failure, value) = state.withLock { state in
            state.calls.append(.get(key))
            return (state.gets, state.getFailure, state.values[key])
        }
        try await gate?.pass()
        if let failure { throw failure }
        return value.map { Entry(value: $0) }
    }

    func store(_ entry: Entry<Int>, for key: String) async throws {
        let gate = state.withLock { state in
            if let value = entry.value { state.calls.append(.set(key, value)) }
            return state.sets
        }
        try await gate?.pass()
        try state.withLock { state in
            if let failure = state.setFailure { throw failure }
            state.values[key] = entry.value
        }
    }

    func remove(_ key: String) async throws {
        try state.withLock { state in
            state.calls.append(.remove(key))
            if let failure = state.removeFailure { throw failure }
            state.values[key] = nil
        }
    }

    func removeAll() async throws {
        state.withLock { state in
            state.calls.append(.removeAll)
            state.values = [:]
        }
    }

    func relieve(_ pressure: MemoryPressure) {
        state.withLock { $0.calls.append(.relieve(pressure)) }
    }
}
