import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// What the tasks of one process do with the cache, everything written into the history.
final class SoakTraffic: Sendable {
    typealias Cache = Composed<MemoryLevel<Int, VersionedValue>, FetchingLevel<Int, VersionedValue>>

    private struct State {
        var isEnding = false
        var tally = SoakTally()
        /// Keys that are being set.
        var busy: Set<Int> = []
    }

    private let settings: SoakSettings
    private let number: Int
    private let cache: Cache
    private let source: SoakSource
    private let log: InstanceLog
    private let ranks: ZipfDistribution
    private let state = Mutex(State())

    init(_ settings: SoakSettings, number: Int, cache: Cache, source: SoakSource, log: InstanceLog) {
        self.settings = settings
        self.number = number
        self.cache = cache
        self.source = source
        self.log = log
        ranks = ZipfDistribution(count: settings.keys, exponent: 0.9)
    }

    var tally: SoakTally { state.withLock { $0.tally } }

    func end() { state.withLock { $0.isEnding = true } }

    // MARK: Work

    func run(seed: UInt64) async {
        await withTaskGroup { group in
            for task in 0..<settings.tasks {
                group.addTask { [self] in
                    var random = SeededGenerator(seed: seed &+ UInt64(task) &* 7_919)
                    await work(&random)
                }
            }
        }
    }

    /// Reads every key once.
    func sweep() async {
        await withTaskGroup { group in
            for first in 0..<8 {
                group.addTask { [self] in
                    for key in stride(from: first, to: settings.keys, by: 8) { await read(key) }
                }
            }
        }
    }

    private func work(_ random: inout SeededGenerator) async {
        while !state.withLock({ $0.isEnding }) {
            let rest = Int.random(in: 0...(2_000 * settings.restMilliseconds), using: &random)
            try? await Task.rest(for: .microseconds(rest))
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let key = ranks.next(using: &random)
                let choice = Int.random(in: 0..<1_000, using: &random)
                if Int.random(in: 0..<1_000, using: &random) < 20 {
                    await cancelled(after: .microseconds(Int.random(in: 0...20_000, using: &random))) { [self] in
                        await carryOut(choice, key)
                    }
                } else {
                    await carryOut(choice, key)
                }
            }
        }
    }

    private func carryOut(_ choice: Int, _ key: Int) async {
        switch choice {
        case ..<860: await read(key)
        case ..<880: await read((0..<4).map { (key + $0 * $0) % settings.keys })
        case ..<970: await change(key, bySetting: choice % 3 != 0)
        case ..<980: await invalidateTag(of: key)
        case ..<999: await remove(key)
        default: if choice == 999, key % 8 == 0 { await clear() } else { await remove(key) }
        }
    }

    private func cancelled(after delay: Duration, _ body: @escaping @Sendable () async -> Void) async {
        let task = Task { await body() }
        try? await Task.rest(for: delay)
        task.cancel()
        await task.value
        state.withLock { $0.tally.cancelled += 1 }
    }

    // MARK: Reads

    /// Reads as `get` does, and takes the receipt along where there is more to tell than a hit in memory.
    private func read(_ key: Int) async {
        let start = HistoryClock.now()
        if let resident = cache.resident(key, at: .coarse) {
            return log.got(key, since: start, Reading(resident.value, from: .memory))
        }
        do {
            let (value, receipt) = try await cache.getWithReceipt(key)
            log.got(key, since: start, Reading(value, from: level(of: receipt), marks: marks(of: receipt)))
        } catch {
            log.failed(key, since: start)
            note("get", error)
        }
    }

    /// Reads several keys by one call, which tells nothing of single values: those that it marks are left out.
    private func read(_ keys: [Int]) async {
        let start = HistoryClock.now()
        do {
            let entries = try await cache.entries(for: keys, ReadRequest())
            for (key, entry) in zip(keys, entries) {
                guard let entry else { continue }
                var marks: ReadMarks = []
                if entry.isSuspect { marks.insert(.suspect) }
                if !entry.isFresh(at: .now) { marks.insert(.stale) }
                log.got(key, since: start, Reading(entry.value, from: .unknown, marks: marks))
            }
        } catch {
            for key in keys { log.failed(key, since: start) }
            note("get several", error)
        }
    }

    private func level(of receipt: Receipt) -> ReadLevel {
        if receipt.hasWaited { return .flight }
        return switch receipt.origin {
        case .memory: .memory
        case .redis: .redis
        case .source: .source
        default: .unknown
        }
    }

    private func marks(of receipt: Receipt) -> ReadMarks {
        switch receipt.state {
        case .stale: .stale
        case .suspect: .suspect
        default: []
        }
    }

    // MARK: Changes

    /// One key in four is set, by one instance and one task at a time; all others are removed after a write, by anybody.
    ///
    /// Two that set a key at once would leave the older value behind if it comes last, with any cache.
    private func isSet(_ key: Int) -> Bool { key % 4 == 0 }

    private func change(_ key: Int, bySetting: Bool) async {
        guard isSet(key) else {
            await attempt("remove") {
                try await log.change(key, in: source.versions) { try await cache.remove(key) }
            }
            return
        }
        guard key / 4 % settings.instances == number, state.withLock({ $0.busy.insert(key).inserted }) else {
            return await read(key)
        }
        defer { state.withLock { _ = $0.busy.remove(key) } }
        await attempt(bySetting ? "set" : "remove") {
            guard bySetting else {
                try await log.change(key, in: source.versions) { try await cache.remove(key) }
                return
            }
            try log.write(key, to: source.versions)
            guard let value = try source.versions.value(of: key) else { return }
            try await log.set(value) {
                try await cache.set(value, for: key, tags: [SoakTags.name(of: key)])
            }
        }
    }

    private func remove(_ key: Int) async {
        await attempt("remove") { try await log.invalidate(.key(key)) { try await cache.remove(key) } }
    }

    /// After a write to one of the keys that bear the tag.
    private func invalidateTag(of key: Int) async {
        await attempt("invalidate a tag") {
            if !isSet(key) { try log.write(key, to: source.versions) }
            try await log.invalidate(.tag(SoakTags.number(of: key))) {
                try await cache.invalidate(tag: SoakTags.name(of: key))
            }
        }
    }

    private func clear() async {
        await attempt("clear") { try await log.invalidate(.all) { try await cache.clear() } }
    }

    private func attempt(_ what: String, _ body: () async throws -> Void) async {
        do { try await body() } catch { note(what, error) }
    }

    private func note(_ what: String, _ error: any Error) {
        guard !(error is CancellationError) else { return }
        state.withLock { $0.tally.errors["\(what): \(error)", default: 0] += 1 }
    }
}
