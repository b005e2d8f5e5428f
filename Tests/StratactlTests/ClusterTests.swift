import Strata
import StrataTesting
import Testing

@testable import StrataRedis
@testable import stratactl

@Suite("stratactl: a cluster", .timeLimit(.minutes(5)))
struct ClusterTests {
    private let keyspace: Keyspace = "things"

    /// A cluster of its own with a client; the program is run on it.
    private struct Place {
        let cluster: RedisCluster
        let redis: RedisClient

        func run(_ arguments: String...) async throws -> CommandRun {
            try await CommandRun.of(arguments, environment: ["STRATA_REDIS_URL": cluster.url])
        }

        /// One that hears nothing, and so looks at Redis for each read.
        func level(_ keyspace: Keyspace) -> RedisLevel<String, String> {
            RedisLevel(redis, keyspace: keyspace, codec: .text, coherence: .none)
        }
    }

    private func with(
        _ directives: [RedisServer.Directive] = [],
        _ body: (Place) async throws -> Void
    ) async throws {
        var configuration = RedisCluster.Configuration()
        configuration.nodeTimeout = .seconds(10)
        configuration.deadline = .seconds(60)
        configuration.server = .init(directives: directives)
        let cluster = try await RedisCluster.start(configuration)
        do {
            let redis = try RedisClient(RedisConfiguration(patientAt: cluster.url))
            try await body(Place(cluster: cluster, redis: redis))
            await redis.shutDown()
        } catch {
            try await cluster.stop()
            throw error
        }
        try await cluster.stop()
    }

    /// Entries at all nodes: a third of them has a tag of its own, and all have one in common.
    private func fill(_ place: Place) async throws -> RedisLevel<String, String> {
        let level = place.level(keyspace)
        for number in 0..<60 {
            try await level.set("value", for: "key-\(number)", tags: ["all", number % 3 == 0 ? "third" : "rest"])
        }
        for primary in place.cluster.primaries {
            #expect(try await primary.command("DBSIZE").integer ?? 0 > 0)
        }
        return level
    }

    @Test("a name in the keyspace's place that no keyspace makes is removed as any other")
    func irregular() async throws {
        try await with { place in
            _ = try await fill(place)
            let name = "strata:things:v:no braces"
            try await place.redis.set(RedisKey(name), [1])
            let run = try await place.run("remove", "things", "--raw-key", "--yes", name, "strata:things:v:{key-1}")
            #expect(run.status.isSuccess, "\(run.errorText)")
            #expect(try await place.redis.get(RedisKey(name)) == nil)
            #expect(try await place.redis.get(RedisKey("strata:things:v:{key-1}")) == nil)
        }
    }

    @Test("tags that were invalidated are listed once each, whatever part of the keyspace has them")
    func tags() async throws {
        try await with { place in
            let level = try await fill(place)
            try await level.invalidate(tag: "third")
            try await level.invalidate(tag: "all")
            let json = try await place.run("tags", "things", "--format", "json").json()
            #expect(json["tags"]?.elements.compactMap { $0["shown"]?.string } == ["all", "third"])
            #expect(json["count"] == .number(2) && json["more"] == .bool(false))
            // A single part has lost its numbers: the others still have the tags.
            let lost = RedisKey(keyspace.marks(of: KeyspacePart.all[0]))
            #expect(try await place.redis.delete(lost) == 1)
            // Another one alone knows of a tag, as after an invalidation that has reached no other.
            try await place.redis.advance(.take(.tags([TagName("lone")])), in: keyspace, KeyspacePart.all[5])
            let found = try await KeyspaceInspector(place.redis, keyspace).tags(limit: 10)
            #expect(found.tags.map(\.escaped) == ["lone", "all", "third"])
            #expect(found.count == 3)
            let two = try await place.run("tags", "things", "--limit", "1", "--format", "plain")
            #expect(two.lines.count == 1 && two.lines[0].hasSuffix("\tlone"))
            #expect(two.errorText.contains("there are 3 tags"))
        }
    }

    @Test("invalidate voids the entries of all nodes, and sweep removes them from all")
    func invalidation() async throws {
        try await with { place in
            let level = try await fill(place)
            let plan = try await place.run("invalidate", "things", "--tag", "third")
            #expect(plan.status == .exited(2))
            #expect(plan.errorText.contains("--yes voids 20 entries of 60 in strata:things at cluster@127.0.0.1:"))
            #expect(try await level.get("key-0") == "value")
            let done = try await place.run("invalidate", "things", "--tag", "third", "--yes", "--format", "json")
            #expect(try done.json()["done"] == .bool(true))
            #expect(done.errorText.contains("audit: ") && done.errorText.contains("tags 'third' at cluster@"))
            for number in 0..<60 {
                #expect(try await level.get("key-\(number)") == (number % 3 == 0 ? nil : "value"), "\(number)")
            }
            let swept = try await place.run("sweep", "things", "--yes", "--format", "json").json()
            #expect(swept["estimatedVoid"] == .number(20) && swept["removed"] == .number(20))
            let keys = try await place.run("keys", "things", "--format", "plain")
            #expect(Set(keys.lines) == Set((0..<60).filter { $0 % 3 != 0 }.map { "key-\($0)" }))
        }
    }

    @Test("why, get, ttl and remove go to the node of the key, and judge by the numbers of its part")
    func oneKey() async throws {
        try await with { place in
            let level = try await fill(place)
            try await level.invalidate(tag: "third")
            // Keys of all nodes.
            for number in 0..<12 {
                let why = try await place.run("why", "things", "key-\(number)", "--format", "json").json()
                #expect(why["read"]?.string == (number % 3 == 0 ? "fetched" : "served"), "\(why)")
                let tags = why["tags"]?.elements ?? []
                #expect(tags.count == 2)
                let own = tags.first { $0["tag"]?.string == "third" }
                #expect(number % 3 == 0 ? own?["voids"] == .bool(true) : own == nil, "\(tags)")
            }
            let ttl = try await place.run("ttl", "things", "key-1", "--format", "json").json()
            #expect(ttl["lease"] != nil)
            let run = try await place.run("remove", "things", "key-1", "key-2", "key-4", "--yes", "--format", "json")
            #expect(try run.json()["removed"] == .number(3))
            #expect(try await level.get("key-4") == nil)
        }
    }

    @Test("keyspaces, sizes, memory and clear take in all nodes")
    func all() async throws {
        try await with { place in
            let level = try await fill(place)
            let keyspaces = try await place.run("keyspaces", "--format", "json").json()
            #expect(keyspaces.elements.map { $0["values"] } == [.number(60)])
            let sizes = try await place.run("sizes", "things", "--format", "json").json()
            #expect(sizes["values"] == .number(60) && sizes["measured"] == .number(60))
            let memory = try await place.run("memory", "--format", "json").json()
            #expect(memory["primaries"] == .number(3) && memory["limit"] == .number(0))
            var used = 0.0
            for primary in place.cluster.primaries {
                let text = try await primary.command("INFO", "memory").text
                let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_memory:") }
                used += line.flatMap { Double($0.dropFirst(12)) } ?? 0
            }
            // The nodes were asked at other times, so only a node that was left out is to be seen.
            let told = try #require(memory["used"]?.number)
            #expect(told > used * 0.75 && told < used * 1.25, "\(told) \(used)")
            let cleared = try await place.run("clear", "things", "--yes", "--format", "json").json()
            #expect(cleared["removed"] == .number(60))
            #expect(try await level.get("key-0") == nil)
            for primary in place.cluster.primaries {
                let names = try await primary.command("KEYS", "strata:things:v:*").elements ?? []
                #expect(names.isEmpty)
            }
        }
    }

    @Test("ping measures each primary, and config names the addresses")
    func ping() async throws {
        try await with { place in
            let json = try await place.run("ping", "--count", "3", "--format", "json").json()
            let primaries = try #require(json["primaries"]?.elements)
            let ports = place.cluster.primaries.compactMap(\.port)
            #expect(Set(primaries.compactMap { $0["endpoint"]?.string }) == Set(ports.map { "127.0.0.1:\($0)" }))
            #expect(primaries.allSatisfy { $0["mode"]?.string == "cluster" && $0["role"]?.string == "master" })
            let table = try await place.run("ping")
            #expect(table.lines.count { $0.hasPrefix("endpoint") } == 3)
            let config = try await place.run("config", "--format", "plain")
            #expect(config.lines.contains { $0.hasPrefix("server\tcluster@127.0.0.1:\(ports[0]),127.0.0.1:") })
            #expect(config.lines.contains { $0.hasPrefix("topology\tcluster\t") })
        }
    }

    /// What `doctor` has said.
    private struct Findings {
        struct Found {
            var check: String
            var severity: String
            var server: String?
            var text: String
        }

        var all: [Found] = []

        init(_ run: CommandRun) throws {
            for node in try run.json()["findings"]?.elements ?? [] {
                let check = try #require(node["check"]?.string)
                let severity = try #require(node["severity"]?.string)
                let text = try #require(node["text"]?.string)
                all.append(Found(check: check, severity: severity, server: node["server"]?.string, text: text))
            }
        }

        private func of(_ check: String) -> [Found] { all.filter { $0.check == check } }
        func severities(_ check: String) -> [String] { of(check).map { $0.severity } }
        func texts(_ check: String) -> [String] { of(check).map { $0.text } }
        func servers(_ check: String) -> Set<String> { Set(of(check).compactMap { $0.server }) }
        func checks(at server: String) -> [String] { all.filter { $0.server == server }.map { $0.check } }
        var warnings: [String] { all.filter { $0.severity == "warning" && $0.check != "latency" }.map { $0.text } }
    }

    private static func address(of server: RedisServer) -> String { "127.0.0.1:\(server.port ?? 0)" }

    @Test("doctor looks at each primary, at the user's rules for a cluster and at all parts of a keyspace")
    func doctor() async throws {
        let rules = AccessRules(for: [.cache], topology: .cluster)
        let directives: [RedisServer.Directive] = [
            "maxmemory 100mb", "maxmemory-policy allkeys-lfu", "save \"\"",
            .init(stringLiteral: "user single on nopass \(AccessRules(for: [.cache]))"),
            .init(stringLiteral: "user unlinked on nopass \(rules) -client|tracking"),
        ]
        try await with(directives) { place in
            let level = try await fill(place)
            try await level.invalidate(tag: "all")
            let sound = try Findings(try await place.run("doctor", "--format", "json"))
            let places = Set(place.cluster.primaries.map(Self.address))
            for check in ["server", "role", "maxmemory", "eviction", "clients", "cluster", "tracking", "clock"] {
                #expect(sound.servers(check) == places, "\(check)")
            }
            #expect(sound.severities("cluster") == ["ok", "ok", "ok"])
            #expect(sound.texts("cluster").first == "16384 of 16384 slots are served, by 3 primaries")
            #expect(sound.severities("role") == ["note", "note", "note"])
            #expect(sound.severities("permissions") == ["ok", "ok"])
            #expect(sound.texts("marks") == ["those of strata:things are sound"])
            #expect(sound.warnings == [])

            // Two parts are damaged; one is not there, which a part that is not used may be.
            for number in [3, 7] {
                let name = RedisKey(keyspace.marks(of: KeyspacePart.all[number]))
                _ = try await place.redis.send([Array("HSET".utf8), name.bytes, Array("s".utf8), Array("x".utf8)])
            }
            try await place.redis.delete(RedisKey(keyspace.marks(of: KeyspacePart.all[9])))
            let spoilt = try await place.run("doctor", "things", "--format", "json")
            #expect(spoilt.status == .exited(1))
            let damaged = try Findings(spoilt)
            #expect(damaged.severities("marks") == ["warning"])
            let text = try #require(damaged.texts("marks").first)
            #expect(text.hasPrefix("those of strata:things, part 3, 7 of 16 are damaged"))

            // The rules of a single server do not let the user find the nodes.
            try await run(as: "single", place).expectFailure(1, saying: "NOPERM")
            let lacking = try Findings(try await run(as: "unlinked", place))
            #expect(lacking.severities("permissions") == ["warning"])
            #expect(lacking.texts("permissions").first?.hasSuffix("lacks +client|tracking") == true)
        }
    }

    private func run(as user: String, _ place: Place) async throws -> CommandRun {
        try await CommandRun.of(
            ["doctor", "--for", "cache", "--format", "json"],
            environment: [
                "STRATA_REDIS_URL": place.cluster.url.replacing("://", with: "://\(user)@"),
                "STRATA_REDIS_PASSWORD": "any",
            ]
        )
    }

    @Test("doctor names a primary that cannot be asked, and looks at the others; a change says that it has failed")
    func silent() async throws {
        try await with(["maxmemory 100mb", "cluster-require-full-coverage no"]) { place in
            let level = try await fill(place)
            try await level.invalidate(tag: "rest")
            let dead = try #require(place.cluster.primaries.last)
            let port = try #require(dead.port)
            try await dead.stop()
            let run = try await place.run("doctor", "things", "--format", "json")
            #expect(run.status == .exited(1))
            let found = try Findings(run)
            #expect(found.checks(at: "127.0.0.1:\(port)") == ["server"])
            #expect(found.warnings.contains { $0.hasPrefix("it cannot be asked: ") })
            #expect(found.servers("role").count == 2)
            #expect(found.severities("marks") == ["unknown"])
            let change = try await place.run("invalidate", "things", "--tag", "all", "--samples", "0", "--yes")
            #expect(change.status == .exited(1))
            #expect(change.errorText.contains("127.0.0.1:\(port)"), "\(change.errorText)")
        }
    }
}
