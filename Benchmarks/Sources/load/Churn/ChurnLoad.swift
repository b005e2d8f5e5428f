import ArgumentParser
import FleetSimulation
import Strata
import StrataRedis
import StrataTesting

/// `load churn`: what is left of memory when others write keys that this instance does not hold.
struct ChurnLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "churn",
        abstract: "The share of memory's entries that outlive foreign writes to other keys, and what a hit costs then.",
        discussion: """
            An instance holds entries. A client of its own on the same Redis writes other keys of the same keyspace. Then
            the entries are counted that memory serves by itself. Hits are timed in turns with a twin, which holds the same
            entries in a keyspace that nobody writes to; the ratio is that of the two after the writes by that before them.
            """
    )

    @Option(help: "Entries that memory holds.")
    var held = 17_281
    @Option(help: "Foreign writes, each to a key of its own that is not held.")
    var writes = 131_072
    @Option(help: "Rounds of hits before and after; the median counts.")
    var rounds = 21
    @Option(help: "Hits in each round.")
    var operations = 100_000

    typealias Level = RedisLevel<String, String>
    typealias Cache = Composed<MemoryLevel<String, String>, Level>

    /// The key whose removal comes after all writes.
    private static let last = "the last"

    /// Calls of the foreign client that are out at once.
    private static let width = 64

    func run() async throws {
        try await RedisServer.withServer { server in
            let (ours, theirs) = (try RedisClient(server.url), try RedisClient(server.url))
            let keys = (0..<held).map { "held \($0)" }
            // Both before any is filled: a level that is made later may cost what the others hold.
            let (cache, twin) = (try await listening(ours, "churn"), try await listening(ours, "twin"))
            try await fill(cache, keys, writtenBy: theirs)
            try await fill(twin, keys, writtenBy: theirs)
            let before = try await hits(cache, keys, twin)
            let foreign = Level(theirs, keyspace: "churn", coherence: .none)
            let start = ContinuousClock.now
            try await write((0..<writes).map { "foreign \($0)" }, foreign)
            try await heardEverything(cache, toldBy: foreign)
            let seconds = start.duration(to: .now) / .seconds(1)
            try await report(cache, keys, twin, before, rate: Double(writes) / seconds)
            await ours.shutDown()
            await theirs.shutDown()
        }
    }

    /// An instance's cache that hears of changes.
    private func listening(_ redis: RedisClient, _ keyspace: Keyspace) async throws -> Cache {
        let cache = MemoryLevel<String, String>(limit: .entries(4 * held)).compose(Level(redis, keyspace: keyspace))
        let heard = cache.lower.changes()
        try await redis.ping()
        for await change in heard where change == .listening { break }
        return cache
    }

    /// Reads entries into memory that another client has put into Redis.
    private func fill(_ cache: Cache, _ keys: [String], writtenBy theirs: RedisClient) async throws {
        let writer = Level(theirs, keyspace: cache.lower.keyspace, coherence: .none)
        try await write(keys, writer)
        try await heardEverything(cache, toldBy: writer)
        var alive = 0
        // What is read while the link comes up may not be kept, so one pass is not enough.
        for _ in 0..<3 where alive < keys.count {
            for key in keys {
                guard try await cache.get(key) != nil else { throw ValidationError("\(key) is not in Redis") }
            }
            alive = keys.count { cache.resident($0, at: .now) != nil }
        }
        guard alive == keys.count else { throw ValidationError("memory holds \(alive) of \(keys.count) entries") }
    }

    private func write(_ keys: [String], _ level: Level) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for first in 0..<Self.width {
                group.addTask {
                    for index in stride(from: first, to: keys.count, by: Self.width) {
                        try await level.set("value of \(keys[index])", for: keys[index])
                    }
                }
            }
        }
    }

    /// Waits until the instance has heard of all writes so far: what is told comes in the order of the changes.
    private func heardEverything(_ cache: Cache, toldBy foreign: Level) async throws {
        let heard = cache.lower.changes()
        // Told also where nothing lay.
        try await foreign.remove(Self.last)
        for await change in heard {
            if case .changed(let key) = change, key.description.contains(Self.last) { break }
        }
    }

    // MARK: Results

    /// A hit's time beside the twin's, and by itself, in nanoseconds.
    private func hits(_ cache: Cache, _ keys: [String], _ twin: Cache) async throws -> (ratio: Double, ns: Double) {
        var (ratios, times): ([Double], [Double]) = ([], [])
        var generator = SplitMix(seed: 42)
        let asked = (0..<operations).map { _ in keys[.random(in: 0..<keys.count, using: &generator)] }
        _ = try await LevelTiming.reads(cache, asked)
        for _ in 0..<rounds {
            let beside = try await LevelTiming.reads(twin, asked)
            let time = try await LevelTiming.reads(cache, asked)
            ratios.append(time / beside)
            times.append(time)
        }
        return (ratios.median, times.median)
    }

    private func report(
        _ cache: Cache,
        _ keys: [String],
        _ twin: Cache,
        _ before: (ratio: Double, ns: Double),
        rate: Double
    ) async throws {
        let alive = keys.filter { cache.resident($0, at: .now) != nil }
        // That they are served without a question to Redis is told by the level below as well.
        let asked = cache.lower.statistics.hits
        for key in keys where try await cache.get(key) == nil { throw ValidationError("\(key) is lost") }
        let questions = cache.lower.statistics.hits - asked
        guard questions == keys.count - alive.count else {
            throw ValidationError("\(keys.count - alive.count) entries are void and Redis was asked \(questions) times")
        }
        let after = try await hits(cache, alive, twin)
        measure("alive.share", Double(alive.count) / Double(held), "1", "\(held) entries, \(writes) foreign writes")
        measure(
            "hit_ns.ratio",
            after.ratio / before.ratio,
            "1",
            "a hit before the writes, each beside an untouched twin"
        )
        measure("hit_ns.before", before.ns, "ns", nil)
        measure("hit_ns.after", after.ns, "ns", nil)
        measure("writes_per_second", rate, "1/s", nil)
    }

    private func measure(_ name: String, _ value: Double, _ unit: String, _ beside: String?) {
        Measurement(name: "churn." + name, value: value, unit: unit, comparedTo: beside).print()
    }
}
