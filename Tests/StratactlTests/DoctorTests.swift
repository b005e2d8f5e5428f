import Strata
import StrataRedis
import StrataTesting
import Testing

@testable import stratactl

@Suite("stratactl: the doctor", .timeLimit(.minutes(5)))
struct DoctorTests {
    private typealias Findings = [String: [(severity: String, text: String)]]

    private func findings(of run: CommandRun) throws -> Findings {
        var found: Findings = [:]
        for finding in try run.json()["findings"]?.elements ?? [] {
            let check = try #require(finding["check"]?.string)
            found[check, default: []].append((finding["severity"]?.string ?? "", finding["text"]?.string ?? ""))
        }
        return found
    }

    private static let checks: Set<String> = [
        "server", "role", "maxmemory", "eviction", "persistence", "fragmentation", "clients", "tracking",
        "permissions", "clock", "latency", "marks",
    ]

    @Test("a server that is set up as the documentation says has no warning")
    func healthy() async throws {
        let directives: [RedisServer.Directive] = [
            "maxmemory 100mb", "maxmemory-policy allkeys-lfu", "save \"\"", "appendonly no",
        ]
        try await Cache.with(.init(directives: directives)) { cache in
            let level = cache.level(.text)
            try await level.set("value", for: Array("a".utf8), tags: ["red"])
            try await level.invalidate(tag: "red")
            func isHeard() async throws -> Bool {
                ServerFacts.peers(in: try await cache.redis.client("LIST").string ?? "").contains { $0.hearsOfChanges }
            }
            while try await !isHeard() {}
            let run = try await cache.run("doctor", "--format", "json")
            let found = try findings(of: run)
            #expect(Set(found.keys) == Self.checks)
            // How quick this machine is at the moment is not the server's doing.
            let warnings = found.filter { $0.key != "latency" }.values.joined().filter { $0.severity == "warning" }
            #expect(warnings.isEmpty, "\(warnings)")
            #expect(run.status == .exited(found["latency"]?.first?.severity == "warning" ? 1 : 0))
            #expect(found["server"]?.first?.text.contains("standalone") == true)
            #expect(found["role"]?.first?.text == "a primary with 0 replicas")
            #expect(found["maxmemory"]?.first?.text.contains("of 100 MiB in use") == true)
            #expect(found["eviction"]?.first?.text == "allkeys-lfu")
            #expect(found["persistence"]?.first?.text == "none: a restart begins empty")
            #expect(found["clients"]?.first?.text.contains("strata ") == true)
            #expect(found["clients"]?.first?.text.contains("told of changes") == true)
            #expect(found["permissions"]?.count == 2)
            #expect(found["marks"]?.first?.text == "those of strata:things are sound")
            let table = try await cache.run("doctor", "things")
            #expect(
                table.lines.contains { $0.hasPrefix("ok  ") && $0.hasSuffix("marks: those of strata:things are sound") }
            )
            table.expectHarmless()
            #expect(level.keyspace == cache.keyspace)
            let plain = try await cache.run("doctor", "things", "--format", "plain")
            #expect(plain.lines.allSatisfy { $0.split(separator: "\t", omittingEmptySubsequences: false).count == 4 })
            #expect(plain.lines.contains("ok\tmarks\tthose of strata:things are sound\t"))
        }
    }

    @Test("what is wrong is a warning with what to do, and the exit status 1")
    func warnings() async throws {
        let directives: [RedisServer.Directive] = [
            "maxmemory 100mb", "maxmemory-policy volatile-ttl", "appendonly yes",
        ]
        try await Cache.with(.init(directives: directives)) { cache in
            try await cache.redis.set("strata:things:t:marks", [1])
            _ = try await cache.redis.send("HSET", "strata:others:t:marks", "s", "nonsense", "c", "1")
            let level = RedisLevel<String, String>(cache.redis, keyspace: "sound", codec: .text, coherence: .none)
            try await level.invalidate(tag: "red")
            let run = try await cache.run("doctor", "--format", "json")
            #expect(run.status == .exited(1))
            let found = try findings(of: run)
            #expect(found["eviction"]?.first?.severity == "warning")
            #expect(found["eviction"]?.first?.text.contains("leases have the shortest time to live") == true)
            #expect(found["persistence"]?.first?.severity == "note")
            let marks = try #require(found["marks"])
            #expect(marks.map { $0.severity } == ["ok", "warning", "warning"])
            #expect(marks[0].text == "those of 1 keyspace are sound")
            #expect(marks[1].text.contains("strata:others are damaged"))
            #expect(marks[2].text.contains("strata:things are a value of the Redis type string"))
            #expect(run.errorLines.count == 1 && run.errorText.contains(" warnings about 127.0.0.1:"))
            let table = try await cache.run("doctor")
            #expect(table.status == .exited(1))
            #expect(table.lines.contains { $0.hasPrefix("warning  eviction: volatile-ttl") })
            #expect(table.lines.contains { $0.hasPrefix("         → Choose volatile-lfu") })
            // Looking repairs nothing.
            #expect(try await cache.redis.get("strata:things:t:marks") == [1])
        }
    }

    @Test("no limit of memory, and numbers that are a year from the clock")
    func unlimited() async throws {
        try await Cache.with { cache in
            _ = try await cache.redis.send("HSET", "strata:things:t:marks", "s", "1000000", "c", "1")
            let found = try findings(of: try await cache.run("doctor", "things", "--format", "json"))
            #expect(found["maxmemory"]?.first?.severity == "warning")
            #expect(found["marks"]?.count == 1)
            #expect(found["marks"]?.first?.text.contains("a year from the server's clock") == true)
        }
    }

    @Test("what the server refuses is not known, and no failure; the purpose decides what a missing rule means")
    func refused() async throws {
        let directives: [RedisServer.Directive] = [
            "maxmemory 100mb", "maxmemory-policy allkeys-lfu", "save \"\"",
            .init(stringLiteral: "user looker on nopass \(AccessRules(for: [.look]).description)"),
            .init(stringLiteral: "user service on nopass \(AccessRules(for: [.cache]).description)"),
            "user nobody on nopass resetkeys -@all +ping +client|setname",
        ]
        try await Cache.with(.init(directives: directives)) { cache in
            try await cache.level(.text).invalidate(tag: "red")
            func run(as user: String, _ arguments: String...) async throws -> CommandRun {
                try await CommandRun.of(
                    ["doctor"] + arguments,
                    environment: [
                        "STRATA_REDIS_URL": cache.server.url.replacing("://", with: "://\(user)@"),
                        "STRATA_REDIS_PASSWORD": "any",
                    ]
                )
            }
            let looker = try findings(of: try await run(as: "looker", "--format", "json"))
            #expect(looker["persistence"]?.first?.severity == "unknown")
            #expect(looker["persistence"]?.first?.text.contains("CONFIG GET was refused") == true)
            #expect(looker["clients"]?.first?.severity == "unknown")
            #expect(looker["tracking"]?.first?.severity == "unknown")
            #expect(looker["permissions"]?.map { $0.severity } == ["ok", "note"])
            #expect(looker["marks"]?.first?.severity == "ok")
            let service = try findings(of: try await run(as: "looker", "--for", "cache", "--format", "json"))
            #expect(service["permissions"]?.map { $0.severity } == ["warning"])
            #expect(service["permissions"]?.first?.text.contains("+client|tracking") == true)
            let nobody = try await run(as: "nobody", "--format", "json")
            let known = try findings(of: nobody)
            #expect(Set(known.keys) == Self.checks)
            for check in Self.checks.subtracting(["permissions", "latency"]) {
                #expect(known[check]?.first?.severity == "unknown", "\(check)")
            }
            #expect(known["permissions"]?.map { $0.severity } == ["warning", "warning"])
            #expect(nobody.status == .exited(1))
            // A service's user need not be one who looks.
            let own = try findings(of: try await run(as: "service", "--format", "json"))
            #expect(own["permissions"]?.map { $0.severity } == ["note", "ok"])
        }
    }

    @Test("no server, no keyspace of that name, and arguments that make no sense")
    func missing() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("value", for: Array("a".utf8))
            for format in ["table", "json", "plain"] {
                try await cache.run("doctor", "thigns", "--format", format)
                    .expectFailure(3, saying: "there is no keyspace", "did you mean 'things'?")
                try await CommandRun.of(["doctor", "--url", "redis://127.0.0.1:1", "--format", format])
                    .expectFailure(1, saying: "127.0.0.1:1")
            }
            for arguments in [["--count", "0"], ["--for", "everything"], ["things", "--escaped", "a\\"]] {
                let run = try await CommandRun.of(["doctor"] + arguments)
                #expect(run.status == .exited(64))
            }
        }
    }

    @Test("names of connections and keyspaces that act on a terminal do not")
    func hostile() async throws {
        try await Cache.with { cache in
            try await cache.redis.set("strata:th%1B[2Jngs\u{9b}:t:marks", [1])
            for format in ["table", "json"] {
                let run = try await cache.run("doctor", "--format", format)
                run.expectHarmless()
                #expect(run.text.contains("th%1B[2Jngs"))
            }
        }
    }

    // MARK: Judgement without a server

    private func information(_ fields: [String: String]) -> ServerInformation { ServerInformation(fields) }

    @Test(
        "versions: those that are too old, and those that lack fixes by their number",
        arguments: [
            (["redis_version": "5.0.14"], "warning"), (["redis_version": "6.0.16"], "warning"),
            (["redis_version": "6.2.19"], "note"), (["redis_version": "6.2.20"], "ok"),
            (["redis_version": "7.0.15"], "note"), (["redis_version": "7.4.6"], "ok"),
            (["redis_version": "8.2.1"], "note"), (["redis_version": "8.4.0"], "ok"),
            (["redis_version": "7.2.4", "valkey_version": "8.1.1"], "note"),
            (["redis_version": "7.2.4", "valkey_version": "8.1.4"], "ok"),
            (["redis_version": "7.2.4", "valkey_version": "9.0.2"], "note"),
            (["redis_version": "7.2.4", "valkey_version": "9.1.0-rc1"], "ok"), ([:], "note"),
        ] as [([String: String], String)]
    )
    func versions(fields: [String: String], severity: String) {
        #expect(Diagnosis.server(information(fields)).severity.rawValue == severity)
    }

    @Test("a replica, a full server, one that cannot save, and fragmentation are warned of")
    func states() {
        func severity(_ finding: Finding) -> Finding.Severity { finding.severity }
        #expect(severity(Diagnosis.role(information(["role": "slave"]), sentinels: nil)) == .warning)
        #expect(severity(Diagnosis.role(information(["cluster_enabled": "1"]), sentinels: nil)) == .warning)
        let found = Diagnosis.role(information(["role": "master", "connected_slaves": "2"]), sentinels: "a,b")
        #expect(found.text == "a primary with 2 replicas, found by Sentinels (a,b)")
        let full = ["maxmemory": "100", "used_memory": "95"]
        #expect(severity(Diagnosis.maxmemory(information(full))) == .ok)
        let refusing = full.merging(["maxmemory_policy": "noeviction"]) { $1 }
        #expect(severity(Diagnosis.maxmemory(information(refusing))) == .warning)
        #expect(severity(Diagnosis.eviction(information(refusing))) == .note)
        // Whatever a server says, nothing overflows.
        let absurd = ["maxmemory": "1", "used_memory": "\(Int.max)", "uptime_in_seconds": "\(Int.max)"]
        #expect(severity(Diagnosis.maxmemory(information(absurd))) == .ok)
        #expect(severity(Diagnosis.server(information(absurd))) == .note)
        for (ratio, expected) in [("1.2", Finding.Severity.ok), ("1.6", .warning), ("0.5", .warning), ("nan", .note)] {
            let fields = ["used_memory": "1000000000", "mem_fragmentation_ratio": ratio]
            #expect(severity(Diagnosis.fragmentation(information(fields))) == expected, "\(ratio)")
        }
        let small = ["used_memory": "1000000", "mem_fragmentation_ratio": "12"]
        #expect(severity(Diagnosis.fragmentation(information(small))) == .ok)
        let failing = information(["rdb_last_bgsave_status": "err"])
        #expect(severity(Diagnosis.persistence(failing, .success(""))) == .warning)
        let crowded = information(["connected_clients": "90", "maxclients": "100"])
        #expect(severity(Diagnosis.clients(crowded, .success([]))) == .warning)
    }

    @Test("clock and latency have their limits; the exactness of a comparison counts")
    func limits() {
        func clock(_ ahead: Double, exactness: Double = 0.001) -> Finding {
            Diagnosis.clock(.success(.init(server: 0, ahead: ahead, exactness: exactness)))
        }
        #expect(clock(0.005).severity == .ok)
        #expect(clock(-5).severity == .note && clock(-5).text.contains("behind"))
        #expect(clock(90_000).severity == .warning && clock(90_000).text.contains("ahead of"))
        #expect(clock(5, exactness: 6).severity == .ok)
        #expect(Diagnosis.latency([0.001, 0.001, 0.2]).severity == .ok)
        #expect(Diagnosis.latency([0.001, 0.001, 0.3]).severity == .warning)
        #expect(Diagnosis.latency([0.01]).severity == .note)
        #expect(Diagnosis.latency([0.06]).severity == .warning)
    }

    @Test("connections are grouped by name, the most frequent first")
    func peers() {
        let text = """
            id=1 addr=127.0.0.1:1 name=strata flags=B db=0
            id=2 addr=127.0.0.1:2 name=strata flags=N db=0
            id=3 addr=127.0.0.1:3 name= flags=N db=0

            """
        let peers = ServerFacts.peers(in: text)
        #expect(peers.map(\.name) == ["strata", "strata", ""])
        #expect(
            Diagnosis.clients(information(["connected_clients": "3"]), .success(peers)).text
                == "3 connections; strata 2 (1 told of changes), without a name 1"
        )
    }
}
