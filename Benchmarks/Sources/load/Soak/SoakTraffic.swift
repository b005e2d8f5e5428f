import FleetChecker
import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// What the tasks of one process do with the caches, everything written into the history.
final class SoakTraffic: Sendable {
    private struct State {
        var isEnding = false
        var cancelled = 0
    }

    let settings: SoakSettings
    let number: Int
    let caches: SoakCaches
    let source: SoakSource
    let log: InstanceLog
    private let ranks: ZipfDistribution
    private let state = Mutex(State())

    init(_ settings: SoakSettings, number: Int, _ caches: SoakCaches, source: SoakSource, log: InstanceLog) {
        self.settings = settings
        self.number = number
        self.caches = caches
        self.source = source
        self.log = log
        ranks = ZipfDistribution(count: settings.keys, exponent: 0.9)
    }

    var counters: SoakCounters { caches.counters }

    var tally: SoakTally {
        var tally = counters.snapshot
        tally.cancelled = state.withLock { $0.cancelled }
        return tally
    }

    func end() { state.withLock { $0.isEnding = true } }

    var isEnding: Bool { state.withLock { $0.isEnding } }

    // MARK: Work

    func run(seed: UInt64) async {
        await withTaskGroup { group in
            for task in 0..<settings.tasks {
                group.addTask { [self] in
                    var random = SeededGenerator(seed: seed &+ UInt64(task) &* 7_919)
                    await work(&random)
                }
            }
            for (index, room) in SoakRoom.allCases.enumerated() {
                guard let work = room.work, settings.has(work) else { continue }
                for task in 0..<room.tasks {
                    group.addTask { [self] in
                        var random = SeededGenerator(seed: seed &+ UInt64(index * 97 + task) &* 15_013)
                        await self.work(in: room, &random)
                    }
                }
            }
        }
    }

    /// Reads every key once.
    func sweep() async {
        let rooms = SoakRoom.allCases.filter { $0.work.map { settings.has($0) } ?? true }
        let keys = rooms.flatMap { Array($0.keys(settings)) }
        await withTaskGroup { group in
            for first in 0..<8 {
                group.addTask { [self] in
                    for index in stride(from: first, to: keys.count, by: 8) { await read(keys[index]) }
                }
            }
        }
    }

    private func work(_ random: inout SeededGenerator) async {
        while !isEnding {
            let rest = Int.random(in: 0...(2_000 * settings.restMilliseconds), using: &random)
            try? await Task.rest(for: .microseconds(rest))
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let key = ranks.next(using: &random)
                let choice = Int.random(in: 0..<1_000, using: &random)
                let options = SoakOptions.keepingLeases(&random)
                // Drawn in any case: the order of operations does not depend on what else is in the work.
                let leaves = Int.random(in: 0..<1_000, using: &random) < 20
                if leaves, settings.has(.cancels) {
                    await cancelled(after: .microseconds(Int.random(in: 0...20_000, using: &random))) { [self] in
                        await carryOut(choice, key, options)
                    }
                } else {
                    await carryOut(choice, key, options)
                }
            }
        }
    }

    private func carryOut(_ choice: Int, _ key: Int, _ options: ReadOptions) async {
        switch choice {
        case ..<80 where settings.has(.options): await read(key, options)
        case ..<860: await read(key)
        case ..<880: await read((0..<4).map { (key + $0 * $0) % settings.keys })
        case ..<970: await change(key, bySetting: choice % 3 != 0)
        case ..<980: await invalidateTag(of: key)
        case ..<999: await remove(key)
        default: if choice == 999, key % 8 == 0 { await clear() } else { await remove(key) }
        }
    }

    func cancelled(after delay: Duration, _ body: @escaping @Sendable () async -> Void) async {
        let task = Task { await body() }
        try? await Task.rest(for: delay)
        task.cancel()
        await task.value
        noteCancelled()
    }

    func noteCancelled() { state.withLock { $0.cancelled += 1 } }

    // MARK: Changes

    func isSet(_ key: Int) -> Bool { SoakRoom.isSet(key, settings) }

    /// Whether this instance is the one that sets a key.
    func owns(_ key: Int) -> Bool { SoakRoom.owner(of: key, settings) == number }

    func change(_ key: Int, bySetting: Bool) async {
        guard isSet(key) else {
            await attempt("remove") { try await changeByRemoving(key) }
            return
        }
        guard owns(key), caches.take(key) else { return await read(key) }
        defer { caches.giveBack(key) }
        await attempt(bySetting ? "set" : "remove") {
            if bySetting { try await changeBySetting(key) } else { try await changeByRemoving(key) }
        }
    }

    func changeByRemoving(_ key: Int) async throws {
        let cache = caches.cache(of: key)
        try await log.change(key, in: source.versions) { try await cache.remove(key) }
    }

    /// For who has taken the key.
    func changeBySetting(_ key: Int) async throws {
        let cache = caches.cache(of: key)
        try log.write(key, to: source.versions)
        guard let value = try source.versions.value(of: key) else { return }
        let tags = key < settings.keys ? [SoakTags.name(of: key)] : []
        try await log.set(value) { try await cache.set(value, for: key, tags: tags) }
    }

    func remove(_ key: Int) async {
        let cache = caches.cache(of: key)
        await attempt("remove") { try await log.invalidate(.key(key)) { try await cache.remove(key) } }
    }

    /// After a write to one of the keys that bear the tag.
    private func invalidateTag(of key: Int) async {
        let cache = caches.cache(of: key)
        await attempt("invalidate a tag") {
            if !isSet(key) { try log.write(key, to: source.versions) }
            try await log.invalidate(.tag(SoakTags.number(of: key))) {
                try await cache.invalidate(tag: SoakTags.name(of: key))
            }
        }
    }

    private func clear() async {
        let cache = caches.cache(of: 0)
        await attempt("clear") { try await log.invalidate(.tag(SoakTags.everything)) { try await cache.clear() } }
    }

    private func attempt(_ what: String, _ body: () async throws -> Void) async {
        do { try await body() } catch { counters.note(what, error) }
    }
}
