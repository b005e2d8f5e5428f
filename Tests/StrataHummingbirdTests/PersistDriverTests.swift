#if Hummingbird
import Hummingbird
import Strata
import StrataRedis
import StrataTesting
import Testing

@testable import StrataHummingbird

/// What users of hummingbird's protocol rely on, for its own driver and for ours: one body over all of them.
@Suite("A persist driver of hummingbird", .timeLimit(.minutes(5)))
struct PersistDriverTests {
    private struct Session: Codable, Equatable {
        var user: String
        var visits = 1
    }

    enum Kind: CaseIterable {
        case hummingbirds
        case memory
        case redis
        case memoryAboveRedis
    }

    /// Runs a body with an empty driver.
    private func with(_ kind: Kind, _ body: (any PersistDriver) async throws -> Void) async throws {
        switch kind {
        case .hummingbirds: try await body(MemoryPersistDriver())
        case .memory: try await body(StrataPersistDriver(in: MemoryLevel(limit: .entries(100))))
        case .redis, .memoryAboveRedis:
            let redis = try TestRedis.client(of: await RedisServer.shared())
            let keyspace = TestRedis.keyspace("persist")
            switch kind {
            case .redis: try await body(StrataPersistDriver(in: RedisLevel(redis, keyspace: keyspace, codec: .bytes)))
            default: try await body(StrataPersistDriver(redis, keyspace: keyspace))
            }
            await redis.shutDown()
        }
    }

    @Test("what was set or created is got, until it is replaced or removed", arguments: Kind.allCases)
    func values(kind: Kind) async throws {
        try await with(kind) { driver in
            #expect(try await driver.get(key: "a", as: String.self) == nil)
            try await driver.set(key: "a", value: "one")
            #expect(try await driver.get(key: "a", as: String.self) == "one")
            try await driver.set(key: "a", value: "two")
            #expect(try await driver.get(key: "a", as: String.self) == "two")
            try await driver.create(key: "b", value: Session(user: "ann"))
            #expect(try await driver.get(key: "b", as: Session.self) == Session(user: "ann"))
            try await driver.remove(key: "a")
            try await driver.remove(key: "a")
            #expect(try await driver.get(key: "a", as: String.self) == nil)
            #expect(try await driver.get(key: "b", as: Session.self) != nil)
            try await driver.create(key: "a", value: "three")
            #expect(try await driver.get(key: "a", as: String.self) == "three")
        }
    }

    @Test("creating a key that exists throws that it does, and changes nothing", arguments: Kind.allCases)
    func duplicate(kind: Kind) async throws {
        try await with(kind) { driver in
            try await driver.create(key: "a", value: "one")
            await #expect(throws: PersistError.duplicate) { try await driver.create(key: "a", value: "two") }
            await #expect(throws: PersistError.duplicate) {
                try await driver.create(key: "a", value: "three", expires: .seconds(10))
            }
            #expect(try await driver.get(key: "a", as: String.self) == "one")
            #expect(try await driver.getWithTTL(key: "a", as: String.self)?.ttl == nil)
        }
    }

    @Test("a value of another type throws that it cannot be converted", arguments: Kind.allCases)
    func otherType(kind: Kind) async throws {
        try await with(kind) { driver in
            try await driver.set(key: "a", value: Session(user: "ann"))
            await #expect(throws: PersistError.invalidConversion) { try await driver.get(key: "a", as: String.self) }
            await #expect(throws: PersistError.invalidConversion) {
                try await driver.getWithTTL(key: "a", as: Int.self)
            }
            #expect(try await driver.get(key: "a", as: Session.self)?.user == "ann")
        }
    }

    @Test("a value with an expiry is gone after it, and its key is free", arguments: Kind.allCases)
    func expiry(kind: Kind) async throws {
        try await with(kind) { driver in
            try await driver.set(key: "none", value: "v", expires: .zero)
            try await driver.set(key: "short", value: "v", expires: .milliseconds(1))
            try await driver.create(key: "made", value: "v", expires: .milliseconds(1))
            try await driver.set(key: "long", value: "v", expires: .seconds(600))
            for key in ["none", "short", "made"] {
                while try await driver.get(key: key, as: String.self) != nil { try await nextTurn() }
                #expect(try await driver.getWithTTL(key: key, as: String.self) == nil)
                try await driver.set(key: key, value: "again", expires: .seconds(600))
                #expect(try await driver.get(key: key, as: String.self) == "again")
            }
            #expect(try await driver.get(key: "long", as: String.self) == "v")
            let left = try #require(try await driver.getWithTTL(key: "long", as: String.self)?.ttl)
            #expect(left <= .seconds(600) && left > .seconds(300))
        }
    }

    @Test("setting without an expiry keeps the old one, setting with one replaces it", arguments: Kind.allCases)
    func replaced(kind: Kind) async throws {
        try await with(kind) { driver in
            try await driver.set(key: "a", value: "one", expires: .seconds(600))
            try await driver.set(key: "a", value: "two")
            let kept = try #require(try await driver.getWithTTL(key: "a", as: String.self))
            #expect(kept.object == "two" && kept.ttl.map { $0 <= .seconds(600) && $0 > .seconds(300) } == true)
            try await driver.set(key: "a", value: "three", expires: .seconds(6_000))
            #expect(try await driver.getWithTTL(key: "a", as: String.self)?.ttl.map { $0 > .seconds(3_000) } == true)
            try await driver.set(key: "b", value: "one")
            try await driver.set(key: "b", value: "two")
            #expect(try await driver.getWithTTL(key: "b", as: String.self)?.ttl == nil)
            try await driver.set(key: "b", value: "three", expires: .milliseconds(1))
            while try await driver.get(key: "b", as: String.self) != nil { try await nextTurn() }
        }
    }

    @Test("an expired key can be created", arguments: [Kind.memory, .redis, .memoryAboveRedis])
    func createdAgain(kind: Kind) async throws {
        try await with(kind) { driver in
            try await driver.set(key: "a", value: "one", expires: .milliseconds(1))
            while try await driver.get(key: "a", as: String.self) != nil { try await nextTurn() }
            try await driver.create(key: "a", value: "two")
            #expect(try await driver.getWithTTL(key: "a", as: String.self)?.ttl == nil)
        }
    }

    @Test("of many instances that create a key at once one does, and all see its value and its removal")
    func fleet() async throws {
        let server = try await RedisServer.shared()
        let keyspace = TestRedis.keyspace("persist")
        let clients = try (0..<3).map { _ in try TestRedis.client(of: server) }
        let drivers = clients.map { StrataPersistDriver($0, keyspace: keyspace) }
        let winners = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<24 {
                group.addTask {
                    while true {
                        do {
                            try await drivers[number % 3].create(key: "k", value: number)
                            return number
                        } catch let error as CacheError where error.code == .conflict {
                            // Its time was up before it could compare once more: this process stood still.
                            continue
                        } catch { return error as? PersistError == .duplicate ? nil : -1 }
                    }
                }
            }
            return await group.reduce(into: [Int]()) { if let winner = $1 { $0.append(winner) } }
        }
        #expect(winners.count == 1)
        for driver in drivers { #expect(try await driver.get(key: "k", as: Int.self) == winners.first) }
        try await drivers[0].remove(key: "k")
        for driver in drivers {
            while try await driver.get(key: "k", as: Int.self) != nil { try await nextTurn() }
        }
        for client in clients { await client.shutDown() }
    }

    @Test("without Redis a call throws: no user is taken for logged out, or for logged in")
    func outage() async throws {
        let server = try await RedisServer.start()
        let redis = try TestRedis.client(of: server)
        let driver = StrataPersistDriver(redis, keyspace: "persist")
        try await driver.set(key: "a", value: "one")
        try await server.stop()
        await #expect(throws: (any Error).self) { try await driver.get(key: "b", as: String.self) }
        await #expect(throws: (any Error).self) { try await driver.set(key: "a", value: "two") }
        await #expect(throws: (any Error).self) { try await driver.create(key: "c", value: "one") }
        // What memory knows is served for as long as it can be trusted, and never after.
        while (try? await driver.get(key: "a", as: String.self)) == "one" { try await nextTurn() }
        await #expect(throws: (any Error).self) { try await driver.get(key: "a", as: String.self) }
        await redis.shutDown()
    }

    @Test("over a level that keeps what is stale, a key whose value has expired has none: it is created, and set anew")
    func staleWindow() async throws {
        let redis = try TestRedis.client(of: await RedisServer.shared())
        let level = RedisLevel<String, [UInt8]>(
            redis,
            keyspace: TestRedis.keyspace("persist"),
            codec: .bytes,
            freshness: FreshnessPolicy(staleIfError: .seconds(3600), jitter: 0)
        )
        let driver = StrataPersistDriver(in: level)
        let ended: @Sendable (String) async throws -> Void = { key in
            while try await driver.get(key: key, as: String.self) != nil { try await nextTurn() }
        }
        try await driver.create(key: "a", value: "one", expires: .milliseconds(20))
        try await ended("a")
        try await driver.create(key: "a", value: "two", expires: .milliseconds(20))
        try await ended("a")
        // As others store it, who go by the policy.
        try await level.set(Array(#""old""#.utf8), for: "b", lifetime: EntryLifetime(freshFor: .milliseconds(20)))
        try await ended("b")
        try await driver.set(key: "b", value: "new", expires: nil)
        #expect(try await driver.get(key: "b", as: String.self) == "new")
        await redis.shutDown()
    }
}
#endif
