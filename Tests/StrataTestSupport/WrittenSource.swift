import Strata
package import StrataTesting

/// A source of truth that is written: it can fail before or after it has written, and be held.
package final class WrittenSource<Value: Sendable & Equatable>: Sendable {
    package struct Failure: Error, Equatable { package init() {} }

    /// When a write fails.
    package enum Fault: Sendable { case before, after }

    private struct State {
        var values: [String: Value] = [:]
        var writes: [(key: String, value: Value?)] = []
        var reads = 0
        var fault: Fault?
        var holds: (before: AsyncGate?, after: AsyncGate?) = (nil, nil)
        var readHold: AsyncGate?
    }

    private let state = Locked(State())

    package init(_ values: [String: Value] = [:]) { state.withLock { $0.values = values } }

    package var values: [String: Value] { state.withLock { $0.values } }

    /// What was written, in its order; `nil` for a deletion.
    package var writes: [Value?] { state.withLock { $0.writes.map(\.value) } }

    package var reads: Int { state.withLock { $0.reads } }

    package func fail(_ fault: Fault?) { state.withLock { $0.fault = fault } }

    /// Holds the next write before it writes, or after it has written.
    package func holdNextWrite(before: AsyncGate? = nil, after: AsyncGate? = nil) {
        state.withLock { $0.holds = (before, after) }
    }

    /// Holds each read after it has read its value, until the gate opens.
    package func holdReads(_ gate: AsyncGate?) { state.withLock { $0.readHold = gate } }

    package func write(_ key: String, _ value: Value?) async throws {
        let (fault, holds) = state.withLock { state in
            defer { state.holds = (nil, nil) }
            return (state.fault, state.holds)
        }
        try await holds.before?.pass()
        if fault == .before { throw Failure() }
        state.withLock { state in
            state.values[key] = value
            state.writes.append((key, value))
        }
        try await holds.after?.pass()
        if fault == .after { throw Failure() }
    }

    package func read(_ key: String) async throws -> Value? {
        let (value, gate) = state.withLock { state in
            state.reads += 1
            return (state.values[key], state.readHold)
        }
        try await gate?.pass()
        return value
    }
}
