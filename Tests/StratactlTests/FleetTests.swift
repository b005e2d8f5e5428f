import Strata
import StrataRedis
import StrataTesting
import Testing

/// An instance of a service that tells of itself.
final class Teller: Sendable {
    let redis: RedisClient
    let memory = MemoryLevel<String, String>(limit: .entries(100))
    let level: RedisLevel<String, String>
    let cache: Composed<MemoryLevel<String, String>, FetchingLevel<String, String>>
    private let running: Task<Void, Never>

    init(
        _ cache: Cache,
        name: String,
        warmRate: Int = 250,
        fetch: @escaping @Sendable (String) async throws -> String? = { "fetched \($0)" }
    ) async throws {
        var settings = cache.redis.configuration
        settings.instanceName = name
        settings.linkPingTimeout = .seconds(60)
        redis = try RedisClient(settings)
        let freshness = FreshnessPolicy(freshFor: .seconds(1000))
        level = RedisLevel(redis, keyspace: cache.keyspace, codec: .text, freshness: freshness)
        // Longer than this process stands still beside other load: what is fetched without a lease is not kept.
        let lease = LeaseOptions(duration: .seconds(60), failureBackOff: nil)
        self.cache = memory.compose(level.fetching(lease, fetch))
        let member = FleetMember(warmRate: warmRate)
        member.add(self.cache, of: level, memory: memory)
        running = Task { await member.run() }
        try await level.ready(within: .seconds(60))
        let inspector = FleetInspector(cache.redis, cache.keyspace)
        while try await !inspector.instances().instances.contains(where: { $0.record?.name == name }) {
            try await nextTurn()
        }
    }

    func end() async {
        running.cancel()
        await running.value
        await redis.shutDown()
    }
}

extension Cache {
    /// Runs `body` while instances with these names tell of themselves.
    static func withTellers(
        _ names: String...,
        configuration: RedisServer.Configuration = .init(),
        _ body: (Cache, [Teller]) async throws -> Void
    ) async throws {
        try await with(configuration) { cache in
            var tellers: [Teller] = []
            for name in names { tellers.append(try await Teller(cache, name: name)) }
            let result = await Result { try await body(cache, tellers) }
            for teller in tellers { await teller.end() }
            try result.get()
        }
    }

    /// Lists instances that there are not, with these records.
    func list(_ records: [(number: String, record: [UInt8])]) async throws {
        let now = try await redis.time() / .milliseconds(1)
        var words = ["HSET", "strata:things:i:{fleet}"]
        for (number, record) in records {
            words += [number, String(Int(now) + 60_000)]
            try await redis.set(RedisKey("strata:things:i:{fleet}:\(number)"), record, expiringIn: .seconds(60))
        }
        _ = try await redis.send(words.map { Array($0.utf8) })
    }

    func number(_ index: Int) -> String {
        let digits = String(index, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

@Suite("stratactl: instances", .timeLimit(.minutes(5)))
struct FleetTests {
    @Test("instances are listed with release, counters and state, as a table, as cells and as JSON")
    func instances() async throws {
        try await Cache.withTellers("web-1/7", "web-2/8") { cache, tellers in
            for teller in tellers { _ = try await teller.cache.get("a") }
            // What is listed is up to five seconds old.
            var json = try await cache.run("instances", "things", "--format", "json").json()
            while json["instances"]?.elements.contains(where: { $0["requests"] == .number(0) }) != false {
                json = try await cache.run("instances", "things", "--format", "json").json()
            }
            let listed = try #require(json["instances"]?.elements)
            #expect(listed.map { $0["name"] } == [.string("web-1/7"), .string("web-2/8")])
            #expect(listed.map { $0["state"] } == [.string("listed"), .string("listed")])
            #expect(
                listed[0]["levels"]?.elements.map { $0["level"] } == [.string("memory"), .string("fetching.redis")]
            )
            #expect(listed[0]["memory"]?["limit"] == .number(100) && listed[0]["untrusted"] == nil)
            #expect(listed.compactMap { $0["fetches"]?.number }.reduce(0, +) == 1)
            #expect(json["more"] == .bool(false))
            let table = try await cache.run("instances")
            #expect(table.status.isSuccess && table.errors.isEmpty)
            table.expectHarmless()
            #expect(table.lines.count == 3 && table.lines[0].hasPrefix("INSTANCE"))
            #expect(table.lines[1].hasPrefix("web-1/7") && table.lines[1].hasSuffix("ok"))
            let plain = try await cache.run("instances", "things", "--format", "plain")
            #expect(plain.lines.allSatisfy { $0.split(separator: "\t").count == 10 } && plain.lines.count == 2)
            for line in plain.lines {
                #expect(line.split(separator: "\t")[3].wholeMatch(of: /\d+ s|\d+ min( \d+ s)?/) != nil, "\(line)")
            }
            let first = try await cache.run("instances", "--limit", "1")
            #expect(first.lines.count == 2 && first.errorText.contains("there are more instances"))
        }
    }

    @Test("no instance, no keyspace, no server, no right and a bad argument are told in one line")
    func missing() async throws {
        let blind = RedisServer.Directive("user blind on nopass ~* &* +@all -hscan")
        try await Cache.with(.init(directives: [blind])) { cache in
            try await cache.level(.text).set("value", for: Array("a".utf8))
            for arguments in [["instances", "things"], ["instances"]] {
                let run = try await CommandRun.of(arguments, environment: ["STRATA_REDIS_URL": cache.server.url])
                #expect(run.status.isSuccess && run.errorLines.count == 1, "\(run.errorText)")
                #expect(run.errorText.contains("no instance is listed"))
            }
            try await cache.run("instances", "thigns").expectFailure(3, saying: "did you mean 'things'?")
            try await cache.run("instances", "--url", "redis://127.0.0.1:1").expectFailure(1, saying: "127.0.0.1:1")
            try await cache.run(
                "instances",
                "things",
                environment: [
                    "STRATA_REDIS_URL": cache.server.url.replacing("://", with: "://blind@"),
                    "STRATA_REDIS_PASSWORD": "x",
                ]
            )
            .expectFailure(1, saying: "NOPERM")
            let refused = try await cache.run("instances", "--limit", "0")
            #expect(refused.status == .exited(64) && refused.errorText.contains("--limit"))
        }
    }

    @Test("an open breaker is told as a trouble, and a half-open one beside the state")
    func breakers() async throws {
        try await Cache.withTellers("web-1/7") { cache, _ in
            let listing = try await FleetInspector(cache.redis, cache.keyspace).instances()
            var record = try #require(listing.instances.first?.record)
            record.levels = Array(record.levels.prefix(1))
            var records: [(number: String, record: [UInt8])] = []
            for (index, counters) in [["breaker_read": 2, "breaker_write": 1], ["breaker_lease": 1]].enumerated() {
                record.name = "other-\(index)"
                record.levels[0].counters = counters
                records.append((cache.number(index), try Codec<InstanceRecord>.cbor.encode(record)))
            }
            try await cache.list(records)
            let plain = try await cache.run("instances", "things", "--format", "plain")
            let states = plain.lines.filter { $0.hasPrefix("other-") }
                .compactMap { $0.split(separator: "\t").last.map(String.init) }
            #expect(
                states.sorted() == ["breaker open: read, breaker half open: write", "ok, breaker half open: lease"]
            )
            let listed = try await cache.run("instances", "things", "--format", "json").json()["instances"]?.elements
            let other = try #require(listed?.first { $0["name"] == .string("other-0") })
            #expect(other["openBreakers"]?.elements == [.string("read")])
            #expect(other["halfOpenBreakers"]?.elements == [.string("write")])
        }
    }

    @Test("what liars have listed is shown harmless, and a thousand instances are shown")
    func liars() async throws {
        try await Cache.withTellers("web-1/7\u{1b}[2J\u{202e}") { cache, _ in
            var records = [
                (cache.number(1), [UInt8](repeating: 0x1b, count: 3 << 20)), (cache.number(2), Array("\u{9b}31m".utf8)),
            ]
            for index in 3..<1000 { records.append((cache.number(index), [UInt8](repeating: 0x9f, count: 100))) }
            try await cache.list(records)
            for format in ["table", "plain", "json"] {
                let run = try await cache.run("instances", "things", "--format", format)
                #expect(run.status.isSuccess)
                if format == "plain" { #expect(run.lines.count == 1000) } else { run.expectHarmless() }
                if format == "json" { #expect(try run.json()["instances"]?.elements.count == 1000) }
                if format == "table" { #expect(run.lines[1].hasPrefix("web-1/7\\x1b[2J\\u{202e}")) }
            }
            // A reader that leaves early.
            let head = try await CommandRun.of(
                "\"$0\" instances things | head -n 2",
                environment: ["STRATA_REDIS_URL": cache.server.url]
            )
            #expect(head.status.isSuccess && head.lines.count == 2 && head.errors.isEmpty)
        }
    }

    #if os(Linux)
    @Test("on a terminal of 40 columns no line is longer")
    func narrow() async throws {
        try await Cache.withTellers("web-1/7") { cache, _ in
            for arguments in ["instances", "why things a"] {
                let run = try await CommandRun.of(
                    "export PROGRAM=\"$0\"; "
                        + "script -qec 'stty cols 40; \"$PROGRAM\" \(arguments)' /dev/null </dev/null",
                    environment: ["STRATA_REDIS_URL": cache.server.url, "SHELL": "/bin/sh", "NO_COLOR": "1"]
                )
                let lines = run.text.split(whereSeparator: \.isNewline).map(String.init)
                #expect(lines.count >= 10)
                for line in lines { #expect(line.count <= 40, "\(line)") }
                #expect(!run.text.contains("\u{1b}"))
            }
        }
    }
    #endif
}
