import FleetChecker
import Synchronization
import Testing

@Suite("A small cache under the checker")
struct RecordedCacheTests {
    /// A cache for one process, with the faults that caches have.
    private final class Cache: Sendable {
        enum Flaw: Sendable, CaseIterable { case none, untrusted, fillsAfterInvalidation, mixesKeys, inventsVersions }

        private struct State {
            var values: [Int: VersionedValue] = [:]
            var epoch = 0
        }

        private let state = Mutex(State())
        let flaw: Flaw

        init(_ flaw: Flaw) { self.flaw = flaw }

        func get(_ key: Int, _ fetch: (Int) async throws -> VersionedValue?) async throws -> VersionedValue? {
            let asked = flaw == .mixesKeys && key == 3 ? 4 : key
            let (held, ticket) = state.withLock { ($0.values[asked], $0.epoch) }
            if let held {
                guard flaw == .inventsVersions, held.version > 1 else { return held }
                return VersionedValue(key: held.key, version: held.version + 1, writer: 0, salt: held.salt)
            }
            let value = try await fetch(asked)
            state.withLock {
                if $0.epoch == ticket || flaw == .fillsAfterInvalidation { $0.values[asked] = value }
            }
            return value
        }

        func remove(_ key: Int) {
            guard flaw != .untrusted else { return }
            state.withLock {
                $0.values[key] = nil
                $0.epoch += 1
            }
        }
    }

    @Test("is clean if it has no flaw, and found out if it has one", arguments: Cache.Flaw.allCases)
    private func flaws(flaw: Cache.Flaw) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a")
        let run = try VersionedRun(keyCount: 8, seed: 3)
        let source = try VersionedSource(run: run) { _, _ in await Task.yield() }
        let recorder = try HistoryRecorder(creating: path, run: run)
        let cache = Cache(flaw)
        let log = recorder.instance(1)
        let life = log.begin()
        // One read that is under way during a change, then many tasks at once.
        let slow = try VersionedSource(run: run) { key, step in
            if step == .afterRead {
                try await log.change(key, in: source) { cache.remove(key) }
            }
        }
        _ = try await log.get(7) { try await cache.get(7) { try await log.fetch($0, from: slow) } }
        _ = try await log.get(7) { try await cache.get(7) { try await log.fetch($0, from: source) } }
        try await withThrowingTaskGroup { group in
            for task in 0..<4 {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(task))
                    for _ in 0..<300 {
                        let key = Int.random(in: 0..<8, using: &generator)
                        if generator.once(in: 10) {
                            try await log.change(key, in: source) { cache.remove(key) }
                        } else {
                            _ = try await log.get(key) {
                                try await cache.get(key) { try await log.fetch($0, from: source) }
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        life.end()
        let checker = StalenessChecker(bounds: StalenessBounds(normal: StalenessBound(fleet: .zero)))
        let report = try checker.check(History(files: [path]))
        let kinds = Set(report.violationCounts.keys)
        switch flaw {
        case .none: #expect(report.isClean, "\(report)")
        case .untrusted, .fillsAfterInvalidation: #expect(kinds == [.stale], "\(report)")
        case .mixesKeys: #expect(kinds == [.stranger], "\(report)")
        case .inventsVersions: #expect(kinds == [.forged], "\(report)")
        }
    }
}
