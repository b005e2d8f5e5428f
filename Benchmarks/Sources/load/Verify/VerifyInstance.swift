import ArgumentParser
import FleetChecker
import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// One process of `load verify`: an instance of a service at work.
///
/// It reads all keys all the time, and changes those that are its own. What it reads and changes is recorded for the
/// checker.
struct VerifyInstance: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-instance",
        abstract: "One process of `load verify`; started by that.",
        shouldDisplay: false
    )

    @Option var folder: String
    @Option var number: Int
    @Option var instances: Int
    /// Keys that are changed by the work; the others are changed by order only.
    @Option var keys: Int
    /// Whether changes are told to its memory.
    @Option var listens: Bool
    /// The link's ping interval and ping timeout, in milliseconds.
    @Option var ping: Int
    /// How long it rests between two changes, on average, in milliseconds.
    @Option var rest: Int

    static let keyspace: Keyspace = "verify"
    static func name(of number: Int) -> String { "verify-\(number)" }
    static func sourcePath(in folder: String) -> String { folder + "/source" }

    func run() async throws {
        let work = try VerifyWork(self, url: try Orders.url())
        try await work.listen()
        let member = FleetMember(interval: .seconds(1))
        member.add(work.cache, of: work.level, memory: work.memory)
        let running = [
            Task { await member.run() }, Task { await work.keepReading() },
            Task { await work.keepChanging() },
        ]
        try Orders.answer(VerifyAnswer.ready)
        for await order in Orders.all(VerifyOrder.self) {
            do {
                if case .finish = order {
                    for task in running { task.cancel() }
                    for task in running { await task.value }
                }
                try Orders.answer(try await work.obey(order))
            } catch {
                try Orders.answer(VerifyAnswer.failed("\(error)"))
            }
        }
    }
}

/// What an instance of `load verify` does.
final class VerifyWork: Sendable {
    typealias Cache = Composed<MemoryLevel<Int, VersionedValue>, FetchingLevel<Int, VersionedValue>>

    let level: RedisLevel<Int, VersionedValue>
    let memory = MemoryLevel<Int, VersionedValue>(limit: .entries(10_000))
    let cache: Cache
    private let redis: RedisClient
    private let source: VersionedSource
    private let log: InstanceLog
    private let keys: Int
    private let own: [Int]
    private let rest: Int
    private let listens: Bool
    private let works = Atomic(false)

    init(_ instance: VerifyInstance, url: String) throws {
        let source = try VersionedSource(opening: VerifyInstance.sourcePath(in: instance.folder))
        self.source = source
        let path = "\(instance.folder)/\(instance.number).history"
        log = try HistoryRecorder(creating: path, run: source.run).instance(UInt16(instance.number))
        var configuration = try RedisConfiguration(url: url)
        configuration.instanceName = VerifyInstance.name(of: instance.number)
        configuration.linkPingInterval = .milliseconds(instance.ping)
        configuration.linkPingTimeout = .milliseconds(instance.ping)
        configuration.reconnectDelay = .milliseconds(50)...(.milliseconds(300))
        redis = try RedisClient(configuration)
        level = RedisLevel(
            redis,
            keyspace: VerifyInstance.keyspace,
            freshness: FreshnessPolicy(freshFor: .seconds(3600)),
            coherence: instance.listens ? .tracking : .none
        )
        cache = memory.compose(
            level.fetching { key, _ in
                guard let value = try await source.fetch(key) else { return .absent() }
                return .value(value, tags: [Self.tag(of: key)])
            }
        )
        keys = source.run.keyCount
        own = (0..<instance.keys).filter { $0 % instance.instances == instance.number }
        rest = instance.rest
        listens = instance.listens
    }

    private static func tag(of key: Int) -> String { "tag-\(key)" }

    /// Connects, with commands first, and returns when changes are told.
    func listen() async throws {
        let changes = level.changes()
        try await redis.ping()
        guard listens else { return }
        for await change in changes where change == .listening { break }
    }

    // MARK: Work

    func keepReading() async {
        while !Task.isCancelled {
            await read(Int.random(in: 0..<keys))
            try? await Task.rest(for: .milliseconds(3))
        }
    }

    func keepChanging() async {
        while !Task.isCancelled {
            try? await Task.rest(for: .milliseconds(Int.random(in: rest / 2...rest * 3 / 2)))
            guard works.load(ordering: .relaxed), let key = own.randomElement() else { continue }
            // A change that fails promises nothing, and is tried again with the next one.
            try? await change(key, VerifyChange.allCases.randomElement() ?? .set)
        }
    }

    private func read(_ key: Int) async {
        let start = HistoryClock.now()
        if let resident = cache.resident(key, at: .coarse) {
            return log.got(key, since: start, Reading(resident.value, from: .memory))
        }
        do {
            guard let entry = try await cache.entry(for: key, ReadRequest()) else {
                return log.missed(key, since: start)
            }
            var marks: ReadMarks = []
            if entry.isSuspect { marks.insert(.suspect) }
            if !entry.isFresh(at: .now) { marks.insert(.stale) }
            log.got(key, since: start, Reading(entry.value, marks: marks))
        } catch {
            log.failed(key, since: start)
        }
    }

    private func change(_ key: Int, _ way: VerifyChange) async throws {
        switch way {
        case .set:
            try log.write(key, to: source)
            guard let value = try source.value(of: key) else { return }
            try await log.set(value) { try await cache.set(value, for: key, tags: [Self.tag(of: key)]) }
        case .remove: try await log.change(key, in: source) { try await cache.remove(key) }
        case .tag: try await log.change(key, in: source) { try await cache.invalidate(tag: Self.tag(of: key)) }
        }
    }

    // MARK: Orders

    func obey(_ order: VerifyOrder) async throws -> VerifyAnswer {
        switch order {
        case .work(let works): self.works.store(works, ordering: .relaxed)
        case .keep(let keys): for key in keys { try await keep(key) }
        case .change(let key, let way): try await change(key, way)
        case .look(let key): return .serves(cache.resident(key, at: .coarse)?.value.version)
        case .finish: break
        }
        return .done
    }

    private func keep(_ key: Int) async throws {
        _ = try await cache.get(key)
        guard var entry = try await memory.entry(for: key, ReadRequest()) else { return try await keep(key) }
        // No gate knows this ticket, and no tag voids it.
        (entry.ticket, entry.seal, entry.tags) = (.none, nil, [])
        try await memory.store(entry, for: key)
    }
}
