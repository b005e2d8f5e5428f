import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What a user of Redis has to be allowed", .timeLimit(.minutes(5)))
struct AccessRulesTests {
    private struct Busy: Error {}

    private let keyspace: Keyspace = "products"

    /// Runs something on a server on which the user `cache` has these rules, and no other user has any permission.
    private func withUser(
        _ rules: AccessRules,
        without missing: String? = nil,
        _ body: (RedisServer) async throws -> Void
    ) async throws {
        let words = rules.rules.filter { $0 != missing }
        if let missing { #expect(words.count == rules.rules.count - 1, "no rule \(missing)") }
        let user = RedisServer.Directive(stringLiteral: "user cache on >pw \(words.joined(separator: " "))")
        try await RedisServer.withServer(.init(directives: [user]), body)
    }

    private func instance(
        _ server: RedisServer,
        _ keyspace: Keyspace = "products",
        coherence: Coherence = .tracking
    ) throws -> Instance {
        try Instance(server.url, keyspace, coherence: coherence) { configuration in
            configuration.username = "cache"
            configuration.password = Secret("pw")
        }
    }

    @Test(
        "all that a cache does works under the rules for it, and the server refuses nothing",
        arguments: [
            AccessRules(for: [.cache], keyspaces: ["products"]), AccessRules(for: [.cache]),
            AccessRules(for: [.sweep], keyspaces: ["products", "other"]), AccessRules(for: [.sweep]),
        ]
    )
    func flows(rules: AccessRules) async throws {
        try await withUser(rules) { server in
            let one = try instance(server)
            let other = try instance(server)
            // The links hear.
            try await one.listen()
            try await other.listen()
            #expect(one.level.untrustedReason == nil && !one.redis.outageStatistics.isImpaired)
            // Values, alone and together; another instance's memory hears of changes.
            try await other.cache.set("1", for: "a", tags: ["red"])
            await one.hears("a")
            #expect(try await one.cache.get(["a", "b"]) == ["1", nil])
            try await other.cache.set("2", for: "a", tags: ["red"])
            while try await one.cache.get("a") != "2" { try await one.redis.ping() }
            try await other.cache.remove("a")
            while try await one.cache.get("a") != nil { try await one.redis.ping() }
            // Tags and clear.
            try await other.cache.set("3", for: "a", tags: ["red"])
            try await one.cache.invalidate(tag: "red")
            while try await other.cache.get("a") != nil { try await other.redis.ping() }
            try await other.cache.set("4", for: "b")
            try await one.cache.clear()
            while try await other.cache.get("b") != nil { try await other.redis.ping() }
            // Fetches under leases: a value, an absence, a failure, a value that is made fresh again.
            let fetching = one.level.fetching { key, context in
                switch key {
                case "absent": return .absent()
                case "fails": return .failure(Busy(), retryAfter: .seconds(1))
                default: return context.old == nil ? .value("5") : .notModified()
                }
            }
            #expect(try await fetching.get("c") == "5")
            #expect(try await fetching.get("c", .reload) == "5")
            #expect(try await fetching.get("absent") == nil)
            await #expect(throws: (any Error).self) { try await fetching.get("fails") }
            #expect(fetching.level.statistics.failures == 0)
            // Repetitions, the server's clock, and a lease of the user's own.
            let names = one.level.names(for: "c")
            try await one.redis.repeatInvalidation(
                PendingInvalidations.Intent(
                    target: .key(names, keyspace),
                    rank: .removal,
                    number: 1,
                    madeAt: .now,
                    notBefore: .distantPast,
                    expiresAt: .distantFuture
                ),
                by: .distantFuture
            )
            _ = try await one.redis.time()
            if rules.commands.contains("scan") { try await one.level.sweep() }
            let log = try await server.command("ACL", "LOG").text
            #expect(!log.contains("reason"), "\(log)")
        }
    }

    @Test("every command of every script is allowed")
    func scripts() throws {
        let allowed = Set(AccessRules(for: [.sweep]).commands)
        for script in LeaseScripts.all + ChangeScripts.all + TagScripts.all + OutageScripts.all {
            for match in script.source.matches(of: /redis\.p?call\('([A-Z]+)'/) {
                #expect(allowed.contains(match.1.lowercased()), "\(script.name): \(match.1)")
            }
        }
        let own = Set(AccessRules(for: [.cache]).commands)
        let scripts = LeaseScripts.all + ChangeScripts.all + OutageScripts.all + FleetScripts.all + [TagScripts.advance]
        for script in scripts {
            for match in script.source.matches(of: /redis\.p?call\('([A-Z]+)'/) {
                #expect(own.contains(match.1.lowercased()), "\(script.name): \(match.1)")
            }
        }
    }

    @Test(
        "a rule that is missing for hearing of changes shows in the health, and is named",
        arguments: ["&__redis__:invalidate", "+client|tracking", "+subscribe", "+client|id", "&strata:products:ev"]
    )
    func untrustedReason(missing: String) async throws {
        try await withUser(AccessRules(for: [.cache], keyspaces: [keyspace]), without: missing) { server in
            let untrusted = try instance(server)
            // The first call starts the link.
            try await untrusted.redis.ping()
            await untrusted.wait { $0.contains(.untrusted) }
            let reason = try #require(untrusted.redis.outageStatistics.untrustedReason)
            #expect(reason.contains("NOPERM"), "\(reason)")
            #expect(untrusted.redis.outageStatistics.isImpaired)
            #expect(untrusted.level.untrustedReason == reason)
            #expect(untrusted.level.label.counters.contains(.init("untrusted", 1)))
            // Values are kept and read all the same; but who may not tell others may not begin a keyspace.
            if missing != "&strata:products:ev" {
                try await untrusted.level.set("v", for: "a")
                #expect(try await untrusted.level.get("a") == "v")
            }
            // A level without a link misses no changes: it never asked for them.
            let content = try instance(server, coherence: .lifetime(.seconds(1)))
            try await content.redis.ping()
            #expect(!content.redis.outageStatistics.isImpaired)
            #expect(content.level.label.counters.contains(.init("untrusted", 0)))
            // When it is allowed, the health is good again.
            try await server.command("ACL", "SETUSER", "cache", missing)
            try await untrusted.listen()
            while untrusted.redis.outageStatistics.isImpaired { try await untrusted.redis.ping() }
            #expect(untrusted.level.label.counters.contains(.init("untrusted", 0)))
        }
    }

    @Test("other keyspaces are out of reach of a user for one")
    func others() async throws {
        try await withUser(AccessRules(for: [.sweep], keyspaces: [keyspace])) { server in
            let other = try instance(server, "other", coherence: .none)
            let error = await #expect(throws: RedisError.self) { try await other.level.set("v", for: "a") }
            #expect(error?.serverCode == "NOPERM")
            await #expect(throws: RedisError.self) { try await other.level.get("a") }
        }
    }
}
