import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Several keys in one call, and a value taken out, in Redis", .timeLimit(.minutes(5)))
struct SeveralKeysInRedisTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test("values that one instance sets are another's, and go when that removes them")
    func several() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            let keys = (0..<150).map { "\($0)" }
            try await one.cache.set(Dictionary(uniqueKeysWithValues: keys.map { ($0, [1]) }), tags: ["t"])
            let expected: [[Int]?] = keys.map { _ in [1] }
            #expect(try await other.cache.get(keys) == expected)
            #expect(try await other.cache.remove(keys) == .done)
            #expect(try await other.level.get(keys).allSatisfy { $0 == nil })
            for key in keys {
                while one.remembers(key) != nil { try await one.redis.ping() }
            }
        }
    }

    @Test("while Redis is away removals are kept, where the call or the level says so, and carried out later")
    func deferred() async throws {
        try await RedisServer.withServer { server in
            let one = try ListInstance(server.url, keyspace)
            try await one.listen()
            let deferring = RedisLevel<String, [Int]>(one.redis, keyspace: keyspace, removals: .deferred)
            try await one.cache.set(["a": [1], "b": [2], "c": [3], "d": [4]])
            for key in ["a", "b"] { while one.remembers(key) == nil { _ = try await one.cache.get(key) } }
            try await server.pause()
            try one.redis.adjust(redisBudget: .milliseconds(500))
            await #expect(throws: RedisError.self) { try await one.cache.remove(["a", "b"]) }
            #expect(try await one.cache.remove(["a", "b"], .deferred) == .deferred)
            #expect(try await deferring.remove(["c", "d"]) == .deferred)
            #expect(one.remembers("a") == nil && one.remembers("b") == nil)
            try one.redis.adjust(redisBudget: .seconds(20))
            try await server.resume()
            while one.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            #expect(try await one.level.get(["a", "b", "c", "d"]).allSatisfy { $0 == nil })
        }
    }

    @Test("of eight callers in two instances one takes the value, and no memory has it afterwards")
    func take() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            for round in 0..<10 {
                try await one.cache.set([round], for: "k")
                #expect(try await other.cache.get("k") == [round])
                let answers = try await withThrowingTaskGroup(of: [Int]?.self) { group in
                    for task in 0..<8 {
                        let cache = task.isMultiple(of: 2) ? one.cache : other.cache
                        group.addTask { try await cache.take("k", within: .seconds(60)) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.compactMap { $0 } == [[round]])
                #expect(try await one.level.get("k") == nil)
                while one.remembers("k") != nil { try await one.redis.ping() }
                while other.remembers("k") != nil { try await other.redis.ping() }
            }
        }
    }
}
