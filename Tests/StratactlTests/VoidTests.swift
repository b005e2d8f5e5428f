import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: what tags and clears have voided, and keyspaces that are not there", .timeLimit(.minutes(5)))
struct VoidTests {
    private func key(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func state(_ cache: Cache, _ key: String) async throws -> (line: String, json: JSONNode) {
        let table = try await cache.run("get", "things", key)
        #expect(table.status.isSuccess, "\(table.errorText)")
        table.expectHarmless()
        let line = try #require(table.lines.first { $0.hasPrefix("state") })
        return (line, try await cache.run("get", "things", key, "--format", "json").json())
    }

    @Test("get says that a tag or a clear has voided an entry, and which")
    func voided() async throws {
        try await Cache.with { cache in
            // One that hears nothing, and so repairs nothing by itself.
            let level = RedisLevel<[UInt8], String>(
                cache.redis,
                keyspace: cache.keyspace,
                codec: .text,
                coherence: .none
            )
            try await level.invalidate(tag: "another")
            try await level.set("v", for: key("a"), tags: ["red", "sale 50%", "round"])
            try await level.set("v", for: key("b"), tags: ["green"])
            try await level.set("v", for: key("c"))
            #expect(try await state(cache, "a").line.hasSuffix("  fresh"))
            try await level.invalidate(tags: ["red", "sale 50%"])
            let (line, json) = try await state(cache, "a")
            #expect(line.hasSuffix("void: invalidated since it was fetched, by tags red sale 50%"), "\(line)")
            #expect(json["state"] == .string("void") && json["voidedBy"] == .string("tags"))
            #expect(json["voidingTags"] == .array([.string("red"), .string("sale 50%")]))
            for other in ["b", "c"] {
                let (line, json) = try await state(cache, other)
                #expect(line.hasSuffix("  fresh"))
                #expect(json["voidedBy"] == nil)
            }
            try await level.clear()
            for key in ["a", "b", "c"] {
                let (line, json) = try await state(cache, key)
                #expect(line.hasSuffix("void: the keyspace was cleared since it was fetched"), "\(line)")
                #expect(json["state"] == .string("void") && json["voidedBy"] == .string("clear"))
            }
            try await level.set("v", for: key("a"), tags: ["red"])
            #expect(try await state(cache, "a").line.hasSuffix("  fresh"))
            try await cache.redis.set("strata:things:t:marks", [1])
            #expect(try await state(cache, "a").json["voidedBy"] == .string("marksLost"))
            // Looking repairs nothing.
            #expect(try await cache.redis.get("strata:things:t:marks") == [1])
        }
    }

    @Test(
        "a keyspace that is not there is said not to be, with those that may be meant, and nothing is left behind",
        arguments: [
            ["keys", "thigns"], ["keys", "thigns", "--match", "a*"], ["leases", "thigns"], ["get", "thigns", "a"],
            ["ttl", "thigns", "a"], ["remove", "thigns", "a"], ["remove", "thigns", "a", "b", "--yes"],
            ["clear", "thigns"], ["clear", "thigns", "--yes"],
        ],
        ["table", "json"]
    )
    func misspelt(arguments: [String], format: String) async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("v", for: key("a"))
            try await cache.redis.set("strata:entirely-different:v:{a}", [1])
            func names() async throws -> Set<RedisKey> {
                var names: Set<RedisKey> = []
                for try await batch in cache.redis.keys(beginningWith: []) { names.formUnion(batch) }
                return names
            }
            let before = try await names()
            let run = try await CommandRun.of(
                arguments + ["--format", format],
                environment: ["STRATA_REDIS_URL": cache.server.url]
            )
            #expect(run.status == .exited(3))
            #expect(run.errorLines.count == 1, "\(run.errorText)")
            #expect(run.errorText.contains("there is no keyspace strata:thigns at 127.0.0.1:"), "\(run.errorText)")
            #expect(run.errorText.contains("did you mean 'things'?"), "\(run.errorText)")
            #expect(try await names() == before)
        }
    }

    @Test("what may be meant: another prefix, other case, a version; and nothing where nothing is like it")
    func meant() async throws {
        try await Cache.with { cache in
            for name in ["strata:Articles@3.0123456789abcdef:v:{a}", "shop:pages:l:{a}", "strata:old:t:marks"] {
                try await cache.redis.set(RedisKey(name), [1])
            }
            for (name, meant) in [
                ("articles", "did you mean 'Articles@3.0123456789abcdef'?"),
                ("pages", "did you mean 'pages' with --prefix 'shop'?"), ("olt", "did you mean 'old'?"),
                ("nothing-like-it", "`stratactl keyspaces` lists them"),
            ] {
                let run = try await cache.run("keys", name)
                #expect(run.status == .exited(3))
                #expect(run.errorText.contains(meant), "\(run.errorText)")
            }
            let prefix = try await cache.run("keyspaces", "--prefix", "strat")
            #expect(prefix.errorText.contains("under the prefix strat"))
        }
    }

    @Test("a keyspace that is used and empty is there: it is listed as empty, and can be cleared")
    func empty() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).invalidate(tag: "red")
            for command in [["keys", "things"], ["leases", "things"], ["clear", "things", "--yes"]] {
                let run = try await CommandRun.of(command, environment: ["STRATA_REDIS_URL": cache.server.url])
                #expect(run.status.isSuccess, "\(command) \(run.errorText)")
            }
            #expect(try await cache.run("clear", "things").status == .exited(2))
            try await cache.run("get", "things", "a").expectFailure(3, saying: "no such key")
        }
    }

    @Test("remove of keys that are not there has the exit status for that, with and without --yes")
    func removeMissing() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("v", for: key("a"))
            for arguments in [["b"], ["b", "--yes"], ["b", "c"], ["b", "c", "--yes"]] {
                let run = try await CommandRun.of(
                    ["remove", "things"] + arguments,
                    environment: ["STRATA_REDIS_URL": cache.server.url]
                )
                #expect(run.status == .exited(3))
                let words = arguments.contains("c") ? "none of these keys exists" : "there is no such key"
                #expect(run.errorLines == ["stratactl: \(words)"])
            }
            let json = try await cache.run("remove", "things", "b", "--yes", "--format", "json")
            #expect(json.status == .exited(3))
            #expect(try json.json()["removed"] == .number(0))
            #expect(try await cache.run("remove", "things", "a", "b", "--yes").status.isSuccess)
        }
    }

    @Test("--version tells the release")
    func version() async throws {
        let run = try await CommandRun.of(["--version"])
        #expect(run.status.isSuccess && run.errors.isEmpty)
        #expect(run.lines.count == 1)
        #expect(run.text.contains(/^stratactl \d+\.\d+\.\d+\S*, hiredis \d+\.\d+/))
    }

    #if os(Linux)
    @Test("on a narrow terminal a table is written by rows; in a pipe and on a wide one by columns")
    func narrow() async throws {
        try await Cache.with { cache in
            try await cache.redis.set("strata:things:l:{a}", Array("T0123456789abcdefweb-2/811".utf8))
            func shown(_ columns: Int) async throws -> CommandRun {
                try await CommandRun.of(
                    "export PROGRAM=\"$0\"; "
                        + "script -qec 'stty cols \(columns); \"$PROGRAM\" leases things' /dev/null </dev/null",
                    environment: ["STRATA_REDIS_URL": cache.server.url, "SHELL": "/bin/sh"]
                )
            }
            func lines(_ run: CommandRun) -> [String] {
                run.text.split(whereSeparator: \.isNewline).map(String.init)
            }
            let token = "30313233343536373839616263646566"
            #expect(
                lines(try await shown(44)) == [
                    "TIME LEFT  no expiry", "HOLDER     web-2/811", "TOKEN      \(token)", "KEY        a",
                ]
            )
            let wide = lines(try await shown(100))
            #expect(wide.count == 2 && wide[0].hasPrefix("TIME LEFT  HOLDER"))
            let piped = try await cache.run("leases", "things", environment: ["COLUMNS": "40"])
            #expect(piped.lines.count == 2)
        }
    }
    #endif
}
