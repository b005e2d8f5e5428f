import Strata
import StrataTesting
import Testing

/// The time of a memory level, moved by hand.
final class HandMovedTime: Sendable {
    private let manual = ManualClock()

    /// The clock for levels, which are swept when it is moved, unless they say otherwise.
    var clock: CacheClock { manual.cacheClock }

    var now: MonotonicInstant { clock.now }

    func advance(by duration: Duration) {
        do { try manual.advance(by: duration) } catch { Issue.record(error) }
    }
}

/// Takes down what leaves a level.
final class RemovalLog<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let removals = Locked([MemoryRemoval<Key, Value>]())

    var all: [MemoryRemoval<Key, Value>] { removals.withLock { $0 } }
    var causes: [RemovalCause] { all.map(\.cause) }
    var keys: [Key] { all.map(\.key) }

    func add(_ removal: MemoryRemoval<Key, Value>) {
        removals.withLock { $0.append(removal) }
    }

    /// What has come since the last time.
    func take() -> [MemoryRemoval<Key, Value>] {
        removals.withLock { removals in
            defer { removals = [] }
            return removals
        }
    }
}

extension MemoryLevel {
    /// The value by the level's own time, which `get` does not know.
    func value(_ key: Key) async throws -> Value? {
        try await entry(for: key, ReadRequest())?.value
    }
}
