import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: invalidating tags and sweeping", .timeLimit(.minutes(5)))
struct InvalidationTests {
    private func key(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// One that hears nothing, and so looks at Redis for each read.
    private func level(_ cache: Cache) -> RedisLevel<[UInt8], String> {
        RedisLevel(cache.redis, keyspace: cache.keyspace, codec: .text, coherence: .none)
    }

    private func fill(_ cache: Cache) async throws -> RedisLevel<[UInt8], String> {
        let level = level(cache)
        for number in 0..<30 { try await level.set("red", for: key("r\(number)"), tags: ["red", "all 1%"]) }
        for number in 0..<10 { try await level.set("blue", for: key("b\(number)"), tags: ["blue"]) }
        return level
    }

    @Test(
        "invalidate without --yes shows what it would touch, and touches nothing",
        arguments: ["table", "plain", "json"]
    )
    func refused(format: String) async throws {
        try await Cache.with { cache in
            let level = try await fill(cache)
            let run = try await cache.run("invalidate", "things", "--tag", "red", "--format", format)
            #expect(run.status == .exited(2))
            #expect(run.errorLines.count == 1, "\(run.errorText)")
            #expect(run.errorText.contains("--yes voids 30 entries of 40 in strata:things at 127.0.0.1:"))
            switch format {
            case "json":
                let json = try run.json()
                #expect(json["values"] == .number(40) && json["estimatedTagged"] == .number(30))
                #expect(json["done"] == .bool(false) && json["number"] == nil)
            case "plain": #expect(run.lines == ["40\t40\t30\t30"])
            default: #expect(run.lines.last?.split(separator: " ") == ["40", "40", "30", "30"])
            }
            #expect(try await level.get(key("r1")) == "red")
        }
    }

    @Test("where no entry was looked at, no number is shown", arguments: ["invalidate", "sweep"])
    func unknown(command: String) async throws {
        try await Cache.with { cache in
            _ = try await fill(cache)
            let arguments = [command, "things", "--samples", "0"] + (command == "sweep" ? [] : ["--tag", "red"])
            let environment = ["STRATA_REDIS_URL": cache.server.url]
            let plan = try await CommandRun.of(arguments, environment: environment)
            #expect(plan.status == .exited(2))
            #expect(plan.errorText.contains("an unknown number of"), "\(plan.errorText)")
            #expect(plan.lines.last?.split(separator: " ") == ["40", "0", "0", "-"], "\(plan.lines)")
            let json = try await CommandRun.of(arguments + ["--format", "json"], environment: environment).json()
            #expect(json["estimatedTagged"] == nil && json["estimatedVoid"] == nil && json["values"] == .number(40))
        }
    }

    @Test("a server that is slow, as one far away is, is asked to the end")
    func slow() async throws {
        try await Cache.with { cache in
            let level = level(cache)
            for number in 0..<200 { try await level.set("red", for: key("r\(number)"), tags: ["red"]) }
            let proxy = try await FaultProxy.start(to: cache.server.endpoint)
            proxy.update(.toClient) { $0.delay = .milliseconds(300) }
            let run = try await cache.run(
                "invalidate",
                "things",
                "--tag",
                "red",
                "--yes",
                "--wait",
                "0",
                environment: ["STRATA_REDIS_URL": proxy.url]
            )
            #expect(run.status.isSuccess, "\(run.errorText)")
            #expect(try await level.get(key("r1")) == nil)
            await proxy.stop()
        }
    }

    @Test("invalidate with --yes voids the entries with any of the tags, and leaves an audit line")
    func invalidate() async throws {
        try await Cache.with { cache in
            let level = try await fill(cache)
            let instance = cache.level(.text)
            let run = try await cache.run(
                "invalidate",
                "things",
                "--tag",
                "all 1%",
                "--tag",
                "green",
                "--yes",
                "--samples",
                "1000"
            )
            #expect(run.status.isSuccess, "\(run.errorText)")
            #expect(run.lines.last?.hasPrefix("invalidated 30 entries of 40 in strata:things at ") == true)
            #expect(run.errorLines.count == 1)
            #expect(run.errorText.hasPrefix("stratactl: audit: 20") && run.errorText.contains("Z uid "))
            #expect(run.errorText.contains(": invalidate strata:things tags 'all 1%' 'green' at 127.0.0.1:"))
            for level in [level, instance] {
                #expect(try await level.get(key("r1")) == nil)
                #expect(try await level.get(key("b1")) == "blue")
            }
            // What is void already is not counted again.
            let json = try await cache.run("invalidate", "things", "--tag", "red", "--yes", "--format", "json")
            #expect(try json.json()["tagged"] == .number(0) && json.json()["done"] == .bool(true))
            #expect(try await cache.size() == 40)
        }
    }

    @Test("instances say whether they have heard; who may not ask them invalidates all the same")
    func acknowledged() async throws {
        let remover = RedisServer.Directive(
            stringLiteral: "user remover on nopass \(AccessRules(for: [.remove]).description)"
        )
        try await Cache.withTellers("web-1/7", "web-2/8", configuration: .init(directives: [remover])) {
            cache,
            tellers in
            try await tellers[0].cache.set("v", for: "a", lifetime: EntryLifetime(), tags: ["red"])
            let arguments = ["invalidate", "things", "--tag", "red", "--yes", "--wait", "5"]
            let environment = ["STRATA_REDIS_URL": cache.server.url]
            /// Asks again where one that is there has not heard or answered in time: this process stood still.
            func asked(_ format: String) async throws -> CommandRun {
                while true {
                    try await cache.list([(cache.number(1), try InstanceRecord.written(as: "ghost/1"))])
                    let run = try await CommandRun.of(arguments + ["--format", format], environment: environment)
                    let late = ["no answer", "silent", "not heard yet", "pending"]
                        .map { run.text.ranges(of: $0).count }
                    if late.reduce(0, +) <= 1 { return run }
                }
            }
            let run = try await asked("table")
            #expect(run.status.isSuccess, "\(run.errorText)")
            run.expectHarmless()
            #expect(run.errorLines.count == 2 && run.errorLines[0].contains(": audit: "))
            #expect(run.errorLines[1].contains("1 of 3 instances has not said that the invalidation was heard"))
            for name in ["web-1/7", "web-2/8"] {
                #expect(run.lines.contains { $0.split(separator: " ").map(String.init) == [name, "has", "heard"] })
            }
            #expect(run.lines.contains { $0.hasPrefix("ghost/1") && $0.hasSuffix("no answer") })
            #expect(tellers[0].cache.resident("a", at: .coarse) == nil)
            let json = try await asked("json").json()
            let states = json["instances"]?.elements.map { $0["state"] }
            #expect(states == [.string("silent"), .string("told"), .string("told")])
            let plain = try await asked("plain")
            #expect(
                plain.lines.dropFirst() == [
                    "instance\tghost/1\tsilent", "instance\tweb-1/7\ttold", "instance\tweb-2/8\ttold",
                ]
            )
            let none = try await CommandRun.of(arguments.dropLast(2) + ["--wait", "0"], environment: environment)
            #expect(none.status.isSuccess && none.errorLines.count == 1 && !none.text.contains("INSTANCE"))
            let url = cache.server.url.replacing("://", with: "://remover@")
            let other = ["STRATA_REDIS_URL": url, "STRATA_REDIS_PASSWORD": "any"]
            let limited = try await CommandRun.of(arguments, environment: other)
            #expect(limited.status.isSuccess, "\(limited.errorText)")
        }
    }

    @Test("the result of a fetch that runs meanwhile is void as well")
    func fetchUnderWay() async throws {
        try await Cache.with { cache in
            let (begun, began) = AsyncStream<Void>.makeStream()
            let (released, release) = AsyncStream<Void>.makeStream()
            let level = level(cache)
            let fetching = level.fetching { (_: [UInt8], _: FetchContext<String>) -> FetchOutcome<String> in
                began.finish()
                for await _ in released {}
                return .value("old", tags: ["red"])
            }
            async let value = fetching.get(key("a"))
            for await _ in begun {}
            let run = try await cache.run("invalidate", "things", "--tag", "red", "--yes")
            #expect(run.status.isSuccess)
            release.finish()
            let fetched = try await value
            #expect(fetched == "old")
            let kept = try await level.get(key("a"))
            #expect(kept == nil)
        }
    }

    @Test("sweep removes what is void, of any form, and nothing else", arguments: ["table", "plain", "json"])
    func sweep(format: String) async throws {
        try await Cache.with { cache in
            let level = try await fill(cache)
            // A form with a number of its own, as a service has it.
            let numbered = RedisLevel<[UInt8], String>(
                cache.redis,
                keyspace: cache.keyspace,
                codec: .text,
                coherence: .none,
                schema: 7
            )
            try await numbered.set("red", for: key("numbered"), tags: ["red"])
            try await cache.redis.set("strata:things:v:{foreign}", [1])
            try await level.invalidate(tag: "red")
            let plan = try await cache.run("sweep", "things", "--format", format)
            #expect(plan.status == .exited(2))
            #expect(
                plan.errorText.contains("--yes removes 31 void entries of 42 in strata:things at "),
                "\(plan.errorText)"
            )
            #expect(try await cache.size() == 42)
            let run = try await cache.run("sweep", "things", "--yes", "--rate", "100000", "--format", format)
            #expect(run.status.isSuccess, "\(run.errorText)")
            #expect(run.errorLines.count == 1)
            #expect(run.errorText.contains(": sweep strata:things removed 31 entries at 127.0.0.1:"))
            if format == "json" { #expect(try run.json()["removed"] == .number(31)) }
            if format == "table" {
                #expect(run.lines.last?.hasPrefix("removed 31 void entries in strata:things") == true)
            }
            #expect(try await cache.size() == 11)
            #expect(try await level.get(key("b1")) == "blue")
            #expect(try await cache.redis.get("strata:things:v:{foreign}") == [1])
        }
    }

    @Test("a misspelt keyspace leaves nothing behind; no server and no permission are errors")
    func missing() async throws {
        let remover = AccessRules(for: [.remove]).description
        let looker = AccessRules(for: [.look]).description
        let directives: [RedisServer.Directive] = [
            .init(stringLiteral: "user remover on nopass \(remover)"),
            .init(stringLiteral: "user looker on nopass \(looker)"),
        ]
        try await Cache.with(.init(directives: directives)) { cache in
            let level = try await fill(cache)
            try await level.invalidate(tag: "blue")
            for command in [["invalidate", "--tag", "red"], ["sweep"]] {
                for consent in [[], ["--yes"]] {
                    let run = try await CommandRun.of(
                        [command[0], "thigns"] + command.dropFirst() + consent,
                        environment: ["STRATA_REDIS_URL": cache.server.url]
                    )
                    run.expectFailure(3, saying: "there is no keyspace", "did you mean 'things'?")
                    #expect(try await cache.redis.exists("strata:thigns:t:marks") == 0)
                    try await CommandRun.of(
                        [command[0], "things", "--url", "redis://127.0.0.1:1"] + command.dropFirst() + consent
                    )
                    .expectFailure(1, saying: "127.0.0.1:1")
                }
                func run(as user: String) async throws -> CommandRun {
                    try await CommandRun.of(
                        [command[0], "things", "--yes", "--format", "json"] + command.dropFirst(),
                        environment: [
                            "STRATA_REDIS_URL": cache.server.url.replacing("://", with: "://\(user)@"),
                            "STRATA_REDIS_PASSWORD": "any",
                        ]
                    )
                }
                try await run(as: "looker").expectFailure(1, saying: "NOPERM")
                let done = try await run(as: "remover")
                #expect(done.status.isSuccess, "\(done.errorText)")
            }
            #expect(try await cache.size() == 0)
        }
    }

    @Test("tags that act on a terminal do not; arguments that make no sense are a matter of usage")
    func hostile() async throws {
        try await Cache.with { cache in
            let level = level(cache)
            try await level.set("value", for: key("a"), tags: ["\u{1b}[2J\u{202e}"])
            let run = try await cache.run(
                "invalidate",
                "things",
                "--tag",
                "\\x1b[2J\\u{202e}",
                "--escaped",
                "--yes"
            )
            #expect(run.status.isSuccess)
            run.expectHarmless()
            #expect(run.errorText.contains("tags '\\x1b[2J\\u{202e}'"), "\(run.errorText)")
            #expect(try await level.get(key("a")) == nil)
            for arguments in [
                ["invalidate", "things"], ["invalidate", "things", "--tag", String(repeating: "t", count: 1025)],
                ["invalidate", "things", "--tag", "a\\", "--escaped"], ["sweep", "things", "--rate", "0"],
            ] {
                let wrong = try await CommandRun.of(arguments, environment: ["STRATA_REDIS_URL": cache.server.url])
                #expect(wrong.status == .exited(64), "\(arguments): \(wrong.errorText)")
            }
        }
    }
}
