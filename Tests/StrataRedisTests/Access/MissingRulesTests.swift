import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Rules that a user lacks", .timeLimit(.minutes(5)))
struct MissingRulesTests {
    private func missing(
        _ rules: AccessRules,
        granted: [String],
        database: Int = 0,
        _ body: (RedisServer, RedisClient) async throws -> Void = { _, _ in }
    ) async throws -> [String] {
        let user = RedisServer.Directive(stringLiteral: "user cache on >pw \(granted.joined(separator: " "))")
        return try await RedisServer.withServer(.init(directives: [user])) { server in
            let redis = try TestServer.client(of: server) {
                $0.username = "cache"
                $0.password = Secret("pw")
                $0.database = database
            }
            let missing = try await redis.missingRules(of: rules)
            let size = try await server.command("DBSIZE").integer
            #expect(size == 0, "a probe has left something")
            try await body(server, redis)
            await redis.shutDown()
            return missing
        }
    }

    @Test(
        "nothing is missing for a user with exactly the rules, whatever it is for",
        arguments: AccessRules.Purpose.allCases,
        [6, 7]
    )
    func exact(purpose: AccessRules.Purpose, version: Int) async throws {
        for rules in [
            AccessRules(for: [purpose], keyspaces: ["products", Keyspace("a b*", version: 3)], serverVersion: version),
            AccessRules(for: [purpose], prefix: "my app", serverVersion: version),
        ] {
            #expect(try await missing(rules, granted: rules.rules) == [])
        }
    }

    @Test("each rule that is taken away is named, and no other", arguments: AccessRules.Purpose.allCases)
    func each(purpose: AccessRules.Purpose) async throws {
        let rules = AccessRules(for: [purpose], keyspaces: ["products"])
        // PING, where it is missing, ends the connection itself; the name of a connection may be missing.
        for rule in rules.rules.dropFirst(3) where rule != "+ping" {
            let found = try await missing(rules, granted: rules.rules.filter { $0 != rule })
            #expect(found == [rule], "\(rule)")
        }
    }

    @Test("who may not select the database lacks that rule alone, and one that is missing beside it")
    func database() async throws {
        let rules = AccessRules(for: [.cache], keyspaces: ["products"], database: 2)
        for lacks in [["+select"], ["+hset", "+select"]] {
            let found = try await missing(rules, granted: rules.rules.filter { !lacks.contains($0) }, database: 2)
            #expect(Set(found) == Set(lacks))
        }
        #expect(try await missing(rules, granted: rules.rules, database: 2) == [])
    }

    @Test("a fleet that publishes on the very channels does not disturb the trial")
    func busyChannels() async throws {
        let rules = AccessRules(for: [.cache], keyspaces: ["products"])
        _ = try await missing(rules, granted: rules.rules.filter { $0 != "+hset" }) { server, redis in
            let isOver = Locked(false)
            async let published: Void = {
                let other = try TestServer.client(of: server)
                while !isOver.withLock({ $0 }) { _ = try await other.send("PUBLISH", "strata:products:ev", "") }
            }()
            for _ in 0..<20 { #expect(try await redis.missingRules(of: rules) == ["+hset"]) }
            isOver.withLock { $0 = true }
            try await published
        }
    }

    @Test("the start of a program ends with one error that names all of them")
    func require() async throws {
        let rules = AccessRules(for: [.cache], keyspaces: ["products"])
        let lacks = ["+client|tracking", "+hset", "&strata:products:ev"]
        _ = try await missing(rules, granted: rules.rules.filter { !lacks.contains($0) }) { server, redis in
            let error = await #expect(throws: RedisError.self) { try await redis.requireAccess(rules) }
            #expect(error?.message == "the Redis user lacks &strata:products:ev +client|tracking +hset")
            try await server.command("ACL", "SETUSER", "cache", "+client|tracking", "+hset", "&strata:products:ev")
            try await redis.requireAccess(rules)
        }
    }

    @Test("each command of the rules has a form in which it is tried")
    func complete() {
        for purpose in AccessRules.Purpose.allCases {
            for command in AccessRules(for: [purpose], database: 1).commands {
                #expect(AccessProbe.arguments(of: command, key: "k", channel: "c", database: 1) != nil, "\(command)")
            }
        }
    }
}
