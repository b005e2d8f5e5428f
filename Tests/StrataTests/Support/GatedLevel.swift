import Strata

/// A level that hears of changes made elsewhere, as Redis does: it has a gate, and tickets that go with its entries.
final class GatedLevel: CacheLevel {
    struct Failure: Error, Equatable {}

    private struct State {
        var values: [String: Int]
        var reads: [String] = []
        var failsWrites = false
    }

    private let state: Locked<State>
    private let ownGate: FillGate

    init(_ values: [String: Int] = [:], gate: FillGate = FillGate()) {
        state = Locked(State(values: values))
        ownGate = gate
    }

    var values: [String: Int] { state.withLock { $0.values } }

    /// The keys that were asked for.
    var reads: [String] { state.withLock { $0.reads } }

    func failWrites(_ fails: Bool) { state.withLock { $0.failsWrites = fails } }

    /// What another process has written.
    func changeElsewhere(_ value: Int?, for key: String) {
        state.withLock { $0.values[key] = value }
        ownGate.void(fingerprint(of: key))
    }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        let ticket = ownGate.ticket(for: fingerprint(of: key))
        let value = state.withLock { state in
            state.reads.append(key)
            return state.values[key]
        }
        return value.map { Entry(.value($0), ticket: ticket) }
    }

    func store(_ entry: Entry<Int>, for key: String) async throws {
        _ = try await commit(entry, for: key)
    }

    func commit(_ entry: Entry<Int>, for key: String) async throws -> Ticket? {
        let before = ownGate.ticket(for: fingerprint(of: key))
        do {
            try state.withLock { state in
                if state.failsWrites { throw Failure() }
                state.values[key] = entry.value
            }
        } catch {
            ownGate.void(fingerprint(of: key))
            throw error
        }
        return ownGate.renew(before, for: fingerprint(of: key)) ?? .void
    }

    func remove(_ key: String) async throws {
        ownGate.void(fingerprint(of: key))
        state.withLock { $0.values[key] = nil }
        ownGate.void(fingerprint(of: key))
    }

    func removeAll() async throws {
        ownGate.voidAll()
        state.withLock { $0.values = [:] }
        ownGate.voidAll()
    }

    var gate: FillGate? { ownGate }

    /// Not the key's own hash, on which no code may rely.
    func fingerprint(of key: String) -> UInt64 { UInt64(truncatingIfNeeded: ("gated:" + key).hashValue) }
}
