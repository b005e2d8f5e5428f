import Strata
import StrataRedis
import StrataTesting

/// A private server with a client, and the program to look at it with.
///
/// Its own server for each test: several tests look at a whole database.
struct Cache {
    let server: RedisServer
    let redis: RedisClient
    let keyspace: Keyspace = "things"

    static func with(
        _ configuration: RedisServer.Configuration = .init(),
        _ body: (Cache) async throws -> Void
    ) async throws {
        try await RedisServer.withServer(configuration) { server in
            var settings = try RedisConfiguration(patientAt: server.url)
            settings.password = server.credentials.map { Secret($0.password) }
            let redis = try RedisClient(settings)
            try await body(Cache(server: server, redis: redis))
            await redis.shutDown()
        }
    }

    /// Runs the program on this server.
    func run(_ arguments: String..., environment: [String: String?] = [:]) async throws -> CommandRun {
        try await CommandRun.of(arguments, environment: ["STRATA_REDIS_URL": server.url].merging(environment) { $1 })
    }

    /// A run that goes on, and its lines.
    func running(
        _ arguments: String...,
        body: (InstanceProcess, _ line: (@escaping (String) -> Bool) async -> String?) async throws -> Void
    ) async throws {
        let process = try await InstanceProcess.start(
            InstanceProcess.builtProduct(named: "stratactl"),
            arguments: arguments,
            environment: ["STRATA_REDIS_URL": server.url]
        )
        var lines = process.lines.makeAsyncIterator()
        try await body(process) { isMeant in
            while let line = await lines.next() {
                if isMeant(line) { return line }
            }
            return nil
        }
    }

    /// A level of the keyspace.
    func level<Value: Sendable>(_ codec: Codec<Value>) -> RedisLevel<[UInt8], Value> {
        RedisLevel(redis, keyspace: keyspace, codec: codec, freshness: FreshnessPolicy(freshFor: .seconds(1000)))
    }

    /// Stores an envelope's bytes under the value name of a key.
    func store(_ bytes: [UInt8], under key: String) async throws {
        try await redis.set(InspectedKey(Array(key.utf8), in: keyspace).name, bytes)
    }

    /// A sound envelope of a key, to be spoiled.
    func envelope(of key: String, codec: UInt8 = 2, payload: [UInt8] = Array("hello".utf8)) -> Envelope {
        let name = InspectedKey(Array(key.utf8), in: keyspace).name
        return Envelope(
            kind: .value,
            codec: codec,
            keyHash: XXH64.hash(name.bytes),
            version: EntryVersion(high: 0xaaaa, low: 0xbbbb),
            storedAt: 1_700_000_000_123,
            freshUntil: 4_000_000_000_000,
            staleUntil: .max,
            payload: payload
        )
    }

    /// How many keys the database has, besides the numbers of invalidations.
    func size() async throws -> Int {
        var names: Set<RedisKey> = []
        for try await batch in redis.keys(beginningWith: []) { names.formUnion(batch) }
        return names.count { !$0.description.hasSuffix(":t:marks") }
    }
}

extension RedisConfiguration {
    /// That of a client that is patient enough for a busy machine.
    init(patientAt url: String) throws {
        try self.init(url: url)
        connectTimeout = .seconds(10)
        commandTimeout = .seconds(20)
        healthWindow = .seconds(20)
        linkPingTimeout = .seconds(60)
        redisBudget = .seconds(20)
        breaker.slowAfter = .seconds(20)
    }
}
