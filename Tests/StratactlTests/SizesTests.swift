import Strata
import StrataRedis
import StrataTesting
import Testing

@testable import stratactl

@Suite("stratactl: tags, sizes and memory", .timeLimit(.minutes(5)))
struct SizesTests {
    private func key(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test("tags are those that were invalidated, the last ones first, with when")
    func tags() async throws {
        try await Cache.with { cache in
            let level = cache.level(.text)
            let long = String(repeating: "long", count: 100)
            for tag in ["red", "blue 50%", long, "red"] { try await level.invalidate(tag: tag) }
            try await level.set("value", for: key("a"), tags: ["green"])
            let json = try await cache.run("tags", "things", "--format", "json").json()
            let shown = json["tags"]?.elements.compactMap { $0["shown"]?.string } ?? []
            #expect(shown.count == 3 && shown[0] == "red" && shown[2] == "blue 50%", "\(shown)")
            #expect(shown[1].hasPrefix("\\#") && shown[1].count == 66)
            #expect(json["tags"]?.elements[0]["tag"] == .string("red"))
            #expect(json["tags"]?.elements[1]["tag"] == nil)
            #expect(json["count"] == .number(3) && json["more"] == .bool(false))
            let seconds = try #require(json["tags"]?.elements[0]["invalidated"]?["relativeSeconds"]?.number)
            #expect((-600...1).contains(seconds))
            let table = try await cache.run("tags", "things")
            #expect(table.lines.count == 4 && table.errors.isEmpty)
            #expect(table.lines[0].hasSuffix("INVALIDATED               TAG"), "\(table.lines[0])")
            #expect(table.lines[1].hasSuffix("Z  red"))
            let one = try await cache.run("tags", "things", "--limit", "1", "--format", "plain")
            #expect(one.lines.count == 1 && one.lines[0].hasSuffix("Z\tred"))
            #expect(one.errorText.contains("there are 3 tags"))
        }
    }

    @Test("of ten thousand tags the last ones are listed, each once")
    func manyTags() async throws {
        try await Cache.with { cache in
            let level = cache.level(.text)
            for batch in 0..<10 { try await level.invalidate(tags: (0..<1000).map { "t\(batch * 1000 + $0)" }) }
            try await level.invalidate(tags: ["t17", "t4242"])
            let json = try await cache.run("tags", "things", "--limit", "500", "--format", "json").json()
            let tags = json["tags"]?.elements.compactMap { $0["tag"]?.string } ?? []
            #expect(tags.count == 500 && Set(tags).count == 500)
            #expect(tags.prefix(2) == ["t17", "t4242"])
            #expect(tags.dropFirst(2).allSatisfy { $0.hasPrefix("t9") })
            #expect(json["count"] == .number(10_000) && json["more"] == .bool(true))
        }
    }

    @Test("sizes: a histogram, the beginnings of keys and the largest values, measured or estimated")
    func sizes() async throws {
        try await Cache.with { cache in
            let level = cache.level(.bytes)
            for number in 0..<300 { try await level.set(Array(repeating: 1, count: 100), for: key("user:\(number)")) }
            for number in 0..<100 { try await level.set(Array(repeating: 1, count: 3000), for: key("page/\(number)")) }
            try await level.set(Array(repeating: 1, count: 90_000), for: key("plain"))
            try await level.set([1], for: Array(repeating: UInt8(ascii: "k"), count: 2000))
            let json = try await cache.run("sizes", "things", "--samples", "0", "--format", "json").json()
            #expect(json["values"] == .number(402) && json["measured"] == .number(402))
            let bytes: Double = 55_800 + 308_600 + 90_086 + 87
            #expect(json["estimatedBytes"] == .number(bytes))
            let memory = try #require(json["estimatedMemory"]?.number)
            #expect(memory > bytes && memory < bytes * 2)
            let bars = json["histogram"]?.elements ?? []
            func measured(upTo bound: Double) -> JSONNode? {
                bars.first { $0["upTo"] == .number(bound) }?["measured"]
            }
            #expect(measured(upTo: 256) == .number(301))
            #expect(measured(upTo: 4096) == .number(100))
            let counted = bars.compactMap { $0["measured"]?.number }
            #expect(counted.reduce(0, +) == 402)
            let groups = json["groups"]?.elements ?? []
            #expect(
                groups.map { $0["shown"]?.string } == [
                    "page/", "(no : or /)", "user:", "(hashed or irregular)",
                ]
            )
            #expect(groups[0]["values"] == .number(100) && groups[2]["values"] == .number(300))
            #expect(groups[0]["beginning"] == .string("page/") && groups[1]["beginning"] == nil)
            #expect(json["largest"]?.elements.count == 10)
            #expect(json["largest"]?.elements[0]["shown"] == .string("plain"))
            #expect(json["largest"]?.elements[0]["bytes"] == .number(90_086))

            let table = try await cache.run("sizes", "things", "--top", "2")
            #expect(table.status.isSuccess && table.errors.isEmpty)
            #expect(table.lines.contains("values    402, all measured"), "\(table.text)")
            #expect(table.lines.contains { $0.hasPrefix("to 256 B ") && $0.contains(" ████") && $0.hasSuffix(" 75 %") })
            #expect(table.lines.contains { $0.hasSuffix("  page/") })
            #expect(table.lines.contains("(2 more beginnings; --top sets how many)"))
            table.expectHarmless()

            let sampled = try await cache.run("sizes", "things", "--samples", "50", "--format", "json").json()
            #expect(sampled["values"] == .number(402) && sampled["measured"] == .number(50))
            let counts = sampled["groups"]?.elements.compactMap { $0["values"]?.number } ?? []
            #expect(counts.reduce(0, +) == 402)
            let plain = try await cache.run("sizes", "things", "--samples", "0", "--top", "1", "--format", "plain")
            #expect(plain.lines.first == "total\tstrata:things\t402\t\(Int(bytes))")
            #expect(plain.lines.contains("size\t256\t301\t75 %"))
            #expect(plain.lines.contains("keys\tpage/\t100\t308600"))
            #expect(plain.lines.last?.hasPrefix("value\tplain\t") == true)
        }
    }

    @Test("memory: what the server has in use, and what the keyspaces take of it")
    func memory() async throws {
        try await Cache.with(.init(directives: ["maxmemory 100mb", "maxmemory-policy allkeys-lru"])) { cache in
            let level = cache.level(.bytes)
            for number in 0..<100 { try await level.set(Array(repeating: 1, count: 1000), for: key("\(number)")) }
            let json = try await cache.run("memory", "--format", "json").json()
            #expect(json["limit"] == .number(Double(100 << 20)) && json["policy"] == .string("allkeys-lru"))
            let used = try #require(json["used"]?.number)
            let row = try #require(json["keyspaces"]?.elements.first)
            #expect(row["keyspace"] == .string("strata:things") && row["values"] == .number(100))
            let memory = try #require(row["estimatedMemory"]?.number)
            #expect(memory > 100 * 1086 && memory < used)
            let table = try await cache.run("memory")
            #expect(table.lines.contains("limit     100 MiB") && table.lines.contains("policy    allkeys-lru"))
            #expect(table.lines.last?.hasSuffix("  strata:things") == true)
            let plain = try await cache.run("memory", "--format", "plain")
            #expect(plain.lines.contains("limit\t100 MiB"))
            #expect(plain.lines.last?.hasSuffix("\tstrata:things") == true)
            let none = try await cache.run("memory", "--prefix", "strat")
            #expect(none.status.isSuccess && none.errorText.contains("under the prefix strat;"))
        }
    }

    @Test("a user who looks may; one who may not ask for memory still sees lengths")
    func permissions() async throws {
        let rules = AccessRules(for: [.look])
        let blind = rules.rules.filter { $0 != "+memory|usage" && $0 != "+info" }.joined(separator: " ")
        let directives: [RedisServer.Directive] = [
            .init(stringLiteral: "user looker on nopass \(rules)"),
            .init(stringLiteral: "user blind on nopass \(blind)"),
            "user nobody on nopass resetkeys -@all +ping",
        ]
        try await Cache.with(.init(directives: directives)) { cache in
            try await cache.level(.text).set("value", for: key("a"), tags: ["red"])
            try await cache.level(.text).invalidate(tag: "red")
            func run(as user: String, _ arguments: [String]) async throws -> CommandRun {
                try await CommandRun.of(
                    arguments,
                    environment: [
                        "STRATA_REDIS_URL": cache.server.url.replacing("://", with: "://\(user)@"),
                        "STRATA_REDIS_PASSWORD": "any",
                    ]
                )
            }
            for arguments in [["tags", "things"], ["sizes", "things"], ["memory"], ["why", "things", "a"]] {
                let looked = try await run(as: "looker", arguments)
                #expect(looked.status.isSuccess && looked.errors.isEmpty, "\(arguments): \(looked.errorText)")
                #expect(try await run(as: "nobody", arguments).status == .exited(1))
            }
            let sizes = try await run(as: "blind", ["sizes", "things"])
            #expect(sizes.status.isSuccess && sizes.errorText.contains("does not report MEMORY USAGE"))
            let memory = try await run(as: "blind", ["memory"])
            #expect(memory.status.isSuccess && memory.lines.contains("in use    not reported"))
        }
    }

    @Test("a keyspace or a server that is not there, hostile names, and arguments that make no sense")
    func bad() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("value", for: key("\u{1b}[2J:\u{202e}"), tags: ["\u{1b}[31m"])
            try await cache.level(.text).invalidate(tag: "\u{1b}[31m\u{9b}")
            try await cache.redis.set("strata:th%1Bngs:v:{a}", [1])
            for command in ["tags", "sizes"] {
                for format in ["table", "json", "plain"] {
                    let missing = try await cache.run(command, "thigns", "--format", format)
                    #expect(missing.status == .exited(3))
                    #expect(missing.errorText.contains("did you mean 'things'"), "\(missing.errorText)")
                    let run = try await cache.run(command, "things", "--format", format)
                    #expect(run.status.isSuccess)
                    #expect(
                        !run.text.contains("\u{1b}") && !run.text.contains("\u{202e}") && !run.text.contains("\u{9b}")
                    )
                    if format != "plain" { run.expectHarmless() }
                    try await CommandRun.of([command, "things", "--url", "redis://127.0.0.1:1", "--format", format])
                        .expectFailure(1, saying: "127.0.0.1:1")
                }
            }
            try await cache.run("memory").expectHarmless()
            try await CommandRun.of(["memory", "--url", "redis://127.0.0.1:1"]).expectFailure(1, saying: "127.0.0.1:1")
            for arguments in [
                ["tags", "things", "--limit", "0"], ["sizes", "things", "--samples", "-1"],
                ["memory", "--samples", "0"],
                ["sizes", "things", "--top", "1001"],
            ] { #expect(try await CommandRun.of(arguments).status == .exited(64)) }
        }
    }

    @Test("shares, bars and words fit what there is")
    func layout() {
        for (share, text) in [(0, "0 %"), (0.001, "<1 %"), (0.5, "50 %"), (1, "100 %"), (7, "100 %")]
            as [(Double, String)]
        {
            #expect(SizesReport.percent(share) == text)
        }
        #expect(WordWrap.lines("one two three four", within: 13) == ["one two three", "four"])
        #expect(WordWrap.lines("one incomprehensibilities two", within: 13) == ["one", "incomprehensibilities", "two"])
        #expect(WordWrap.lines("one two three four", within: nil) == ["one two three four"])
        #expect(WordWrap.lines("one two three four", within: 5) == ["one two three four"])
        var fields = FieldList()
        fields.add("name", "one two three four")
        fields.add("", "five")
        #expect(fields.lines(within: 19).map(\.text) == ["name  one two three", "      four", "      five"])
        #expect(fields.rows == [["name", "one two three four"], ["name", "five"]])
    }

    #if os(Linux)
    @Test("on a terminal of 40 columns bars and tables fit")
    func narrow() async throws {
        try await Cache.with { cache in
            let level = cache.level(.bytes)
            for number in 0..<20 {
                try await level.set(Array(repeating: 1, count: number * 500), for: key("k:\(number)"))
            }
            try await level.invalidate(tag: "red")
            for command in ["sizes things", "tags things", "memory", "doctor", "config"] {
                let run = try await CommandRun.of(
                    "export PROGRAM=\"$0\"; "
                        + "script -qec 'stty cols 40; \"$PROGRAM\" \(command)' /dev/null </dev/null",
                    environment: [
                        "STRATA_REDIS_URL": cache.server.url, "SHELL": "/bin/sh", "NO_COLOR": "1",
                        "XDG_CONFIG_HOME": "/x",
                    ]
                )
                let lines = run.text.split(whereSeparator: \.isNewline).map(String.init)
                #expect(lines.count > 1)
                // The last line of the doctor is that of the standard error output.
                for line in lines where !line.hasPrefix("stratactl: ") { #expect(line.count <= 40, "\(line)") }
                #expect(!run.text.contains("\u{1b}"))
            }
        }
    }
    #endif
}
