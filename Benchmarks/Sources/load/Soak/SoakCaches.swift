import FleetChecker
import Strata
import StrataRedis
import Synchronization

/// The caches of one instance: a memory and a Redis level for each room, over the one source.
final class SoakCaches: Sendable {
    typealias Cache = Composed<MemoryLevel<Int, VersionedValue>, FetchingLevel<Int, VersionedValue>>

    let redis: RedisClient
    let counters: SoakCounters
    let departures = SoakDepartures()
    private let settings: SoakSettings
    private let number: Int
    private let log: InstanceLog
    /// What other programs do beside this instance stands under a number of its own.
    private let foreignLog: InstanceLog
    private let source: VersionedSource
    private let standing: Mutex<[SoakRoom: Cache]>
    /// Keys that are being set.
    private let busy = Mutex<Set<Int>>([])
    /// The cache of another service that changes the hot room's values.
    private let neighbour: RedisLevel<Int, VersionedValue>?
    private let rolling = Mutex<(schema: UInt32, cache: Cache)?>(nil)

    init(
        _ settings: SoakSettings,
        number: Int,
        _ redis: RedisClient,
        neighbour: RedisClient?,
        _ source: VersionedSource,
        _ recorder: HistoryRecorder,
        _ counters: SoakCounters
    ) {
        self.settings = settings
        self.number = number
        self.redis = redis
        self.source = source
        self.counters = counters
        log = recorder.instance(UInt16(number))
        foreignLog = recorder.instance(UInt16(number) + 1_000)
        self.neighbour = neighbour.map { client in
            RedisLevel(
                client,
                keyspace: SoakRoom.hot.keyspace(settings),
                codec: SoakRoom.hot.codec,
                freshness: SoakRoom.hot.freshness(settings),
                coherence: .none
            )
        }
        standing = Mutex([:])
        let rooms = SoakRoom.allCases.filter { room in
            room != .tenants && room != .schema && room.work.map { settings.has($0) } ?? true
        }
        for room in rooms {
            let cache = make(room, key: 0)
            standing.withLock { $0[room] = cache }
        }
    }

    /// The cache of a key.
    ///
    /// That of a tenant is a new one each time.
    func cache(of key: Int) -> Cache {
        let room = SoakRoom.of(key, settings)
        switch room {
        case .tenants: return make(room, key: key)
        case .schema:
            let schema = settings.schema(of: number)
            return rolling.withLock { rolling in
                if let rolling, rolling.schema == schema { return rolling.cache }
                let cache = make(room, key: key, schema: schema)
                rolling = (schema, cache)
                return cache
            }
        default: return standing.withLock { $0[room] } ?? make(room, key: key)
        }
    }

    private func make(_ room: SoakRoom, key: Int, schema: UInt32? = nil) -> Cache {
        let level = RedisLevel<Int, VersionedValue>(
            redis,
            keyspace: room.keyspace(settings, key: key),
            codec: room.codec,
            freshness: room.freshness(settings),
            schema: schema
        )
        return MemoryLevel<Int, VersionedValue>(limit: .entries(2 * room.keys(settings).count))
            .compose(level.fetchingSeveral(room.leases) { [self] keys, _ in await fetch(keys, room) })
    }

    /// Fetches several keys at once, each with its own outcome and, in the main room, its tag.
    ///
    /// None is kept before all are there, so the fetch of each lasts until then.
    private func fetch(
        _ asked: [Int],
        _ room: SoakRoom
    ) async -> [Int: FetchOutcome<VersionedValue>] {
        let fetches = asked.map { ($0, log.beginFetch($0)) }
        let outcomes = await withTaskGroup(of: (Int, FetchOutcome<VersionedValue>).self) { group in
            for key in asked {
                group.addTask { [self] in
                    counters.add("\(room.rawValue).fetches")
                    do {
                        guard let value = try await source.fetch(key) else { return (key, .absent()) }
                        if room == .left { await isFetched(key) }
                        if room == .hot { setBeside(key) }
                        return (key, .value(value, tags: room == .main ? [SoakTags.name(of: key)] : []))
                    } catch {
                        return (key, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (key, fetch) in fetches {
            if case .value(let value, _, _) = outcomes[key] { fetch.end(version: value.version) } else { fetch.fail() }
        }
        return outcomes
    }

    /// What happens between the end of a fetch and its store: another program removes the value, and the caller leaves.
    private func isFetched(_ key: Int) async {
        guard departures.awaits(key) else { return }
        await removeByHand(key)
        departures.depart(key)
    }

    /// Has the neighbour set a value while what was fetched is on its way to Redis.
    private func setBeside(_ key: Int) {
        guard let neighbour, SoakRoom.isHot(key), SoakRoom.owner(of: key, settings) == number, take(key) else { return }
        let moment = HistoryClock.now() + UInt64.random(in: 0...600_000)
        Task {
            defer { giveBack(key) }
            // No timer is that exact.
            while HistoryClock.now() < moment { await Task.yield() }
            do {
                try foreignLog.write(key, to: source)
                guard let value = try source.value(of: key) else { return }
                try await foreignLog.set(value) { try await neighbour.set(value, for: key) }
            } catch {
                counters.note("set by a neighbour", error)
            }
        }
    }

    // MARK: Keys that are being set

    /// Takes a key for setting it; false when another task has it.
    func take(_ key: Int) -> Bool { busy.withLock { $0.insert(key).inserted } }

    func giveBack(_ key: Int) { busy.withLock { _ = $0.remove(key) } }

    // MARK: Changes by other programs

    /// Removes a value as a program does that knows nothing of leases; obliges if there was one.
    func removeByHand(_ key: Int) async {
        let room = SoakRoom.of(key, settings)
        let name = RedisKey("\(room.keyspace(settings, key: key)):v:{\(key)}")
        if room == .left { _ = try? foreignLog.write(key, to: source) }
        let removal = foreignLog.beginInvalidation(.key(key))
        do {
            if try await redis.delete(name) > 0 { removal.end() } else { removal.fail() }
        } catch {
            removal.fail()
        }
    }
}
