import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// Readers that go on while a fault comes and goes, and what they have seen.
final class FaultTraffic: Sendable {
    struct Tally: Sendable {
        var reads = 0
        /// Reads that threw.
        var errors = 0
        /// Reads that got another key's value, or part of one.
        var wrong = 0
        /// The longest read.
        var longest = Duration.zero
        var anError: String?
    }

    /// What a source says about a key; long enough to be cut, and told from every other.
    static func value(of key: String) -> String { "\(key)=\(String(repeating: key, count: 20))." }

    private let tally = Locked(Tally())
    private let isOver = Locked(false)
    let tasks: Int
    private let keys: Int

    init(tasks: Int = 8, keys: Int = 50) {
        self.tasks = tasks
        self.keys = keys
    }

    /// How many reads have ended.
    var reads: Int { tally.withLock { $0.reads } }

    /// Returns when so many more reads have ended.
    func goesOn(for count: Int = 100) async throws {
        let end = reads + count
        while reads < end { try await nextTurn() }
    }

    /// Reads from before the fault until after it.
    ///
    /// - Parameters:
    ///   - read: One read of a key.
    ///   - fault: What happens meanwhile.
    /// - Returns: What was seen.
    /// - Throws: What the fault throws.
    func run(
        _ read: @escaping @Sendable (String) async throws -> String?,
        during fault: (FaultTraffic) async throws -> Void
    ) async throws -> Tally {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask { [self] in
                    var generator = SplitMix64(seed: UInt64(task))
                    while !isOver.withLock({ $0 }), !Task.isCancelled {
                        await count("key \(generator.next() % UInt64(keys))", read)
                        // A read that memory answers does not suspend.
                        await Task.yield()
                    }
                }
            }
            defer { isOver.withLock { $0 = true } }
            try await goesOn()
            try await fault(self)
            try await goesOn()
        }
        return tally.withLock { $0 }
    }

    private func count(_ key: String, _ read: (String) async throws -> String?) async {
        let began = MonotonicInstant.now
        let result: Result<String?, any Error>
        do { result = .success(try await read(key)) } catch { result = .failure(error) }
        let took = began.duration(to: .now)
        tally.withLock { tally in
            tally.reads += 1
            tally.longest = max(tally.longest, took)
            switch result {
            case .success(let value): if value != Self.value(of: key) { tally.wrong += 1 }
            case .failure(let error):
                tally.errors += 1
                tally.anError = "\(error)"
            }
        }
    }
}

/// A service as users have it, at its defaults but for the pauses: Redis over a source that always answers.
struct FaultService {
    private final class Count: Sendable {
        let number = Locked(0)
    }

    let redis: RedisClient
    let level: FetchingLevel<String, String>
    private let count = Count()

    /// How often the source was asked.
    var fetches: Int { count.number.withLock { $0 } }

    init(
        _ url: String,
        _ keyspace: Keyspace,
        coherence: Coherence = .tracking,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = try RedisConfiguration(url: url)
        configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
        configuration.breaker.pause = .milliseconds(1) ... .milliseconds(20)
        adjust(&configuration)
        redis = try RedisClient(configuration)
        level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: coherence)
            .fetching { [count] key in
                count.number.withLock { $0 += 1 }
                return FaultTraffic.value(of: key)
            }
    }

    var counters: RedisLevelStatistics { level.level.statistics }

    /// Asks for new keys until one is answered by Redis: the level below works again.
    ///
    /// - Returns: How long that took.
    @discardableResult
    func recovers() async throws -> Duration {
        let began = MonotonicInstant.now
        var number = 0
        while true {
            let key = "back \(number)"
            #expect(try await level.get(key) == FaultTraffic.value(of: key))
            if let stored = try? await level.level.get(key) {
                #expect(stored == FaultTraffic.value(of: key))
                return began.duration(to: .now)
            }
            number += 1
            try await nextTurn()
        }
    }

    /// Reads a key until Redis has its value.
    func fill(_ key: String) async throws {
        while (try? await level.level.get(key)) == nil {
            _ = try await level.get(key)
            try await nextTurn()
        }
    }

    /// Returns when Redis has answered 200 reads, and the source none of them.
    func isServedByRedis() async throws {
        var fetchesBefore = -1
        while fetchesBefore != fetches {
            fetchesBefore = fetches
            let hits = counters.hits
            while counters.hits < hits + 200 { try await nextTurn() }
        }
    }

    func traffic(during fault: (FaultTraffic) async throws -> Void) async throws -> FaultTraffic.Tally {
        let tally = try await FaultTraffic().run({ [level] in try await level.get($0) }, during: fault)
        #expect(tally.errors == 0, "one of them: \(tally.anError ?? "")")
        #expect(tally.wrong == 0)
        return tally
    }
}
