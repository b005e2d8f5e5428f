import Strata
import StrataRedis
import StrataTesting
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite("stratactl: watch", .timeLimit(.minutes(5)))
struct WatchTests {
    /// Runs `body` while another client writes.
    private func whileWriting<Result>(_ level: RedisLevel<String, String>, _ body: () async throws -> Result)
        async throws
        -> Result
    {
        let writer = Task {
            while !Task.isCancelled {
                try await level.set("v", for: "a")
                try await nextTurn()
            }
        }
        let result = await Swift.Result { try await body() }
        writer.cancel()
        _ = await writer.result
        return try result.get()
    }

    @Test("changes, removals, leases, tags and clears come while they happen, and Ctrl-C ends it")
    func events() async throws {
        try await Cache.with { cache in
            let level = RedisLevel<String, String>(cache.redis, keyspace: cache.keyspace, codec: .text)
            try await level.ready()
            try await cache.running("watch", "things", "--format", "plain") { process, line in
                #expect(await line { $0.hasSuffix("\tlistening\t") } != nil)
                try await level.set("secret", for: "a\u{1b}")
                #expect(await line { $0.hasSuffix("\tchanged\ta\\x1b") } != nil)
                try await level.remove("a\u{1b}")
                #expect(await line { $0.hasSuffix("\tremoved\ta\\x1b") } != nil)
                let (begun, began) = AsyncStream<Void>.makeStream()
                let (released, release) = AsyncStream<Void>.makeStream()
                let fetching = level.fetching(LeaseOptions(duration: .seconds(50))) { _ in
                    began.finish()
                    for await _ in released {}
                    return "value"
                }
                async let value = fetching.get("b")
                for await _ in begun {}
                let holder = cache.redis.configuration.instanceName
                #expect(await line { $0.hasSuffix("\tfetching\tb by \(holder)") } != nil)
                release.finish()
                _ = try await value
                #expect(await line { $0.hasSuffix("\treleased\tb") } != nil)
                try await level.invalidate(tags: ["red", "b\u{9b}lue"])
                #expect(await line { $0.contains("\ttags\t") && $0.contains("b\\u{9b}lue") } != nil)
                try await level.clear()
                #expect(await line { $0.hasSuffix("\tcleared\t") } != nil)
                try process.signal(SIGINT)
                #expect(try await process.waitForExit() == .signalled(SIGINT))
            }
        }
    }

    @Test("--count and --for end it, JSON is a document a line, and a reader that leaves ends it quietly")
    func ends() async throws {
        try await Cache.with { cache in
            let level = RedisLevel<String, String>(cache.redis, keyspace: cache.keyspace, codec: .text)
            try await level.ready()
            try await level.set("v", for: "a")
            try await cache.running("watch", "things", "--format", "json", "--count", "2") { process, line in
                #expect(await line { $0.contains("\"listening\"") } != nil)
                try await level.set("v", for: "b")
                #expect(await line { $0.contains("\"changed\"") && $0.hasPrefix("{") && $0.hasSuffix("}") } != nil)
                let status = try await whileWriting(level) { try await process.waitForExit() }
                #expect(status.isSuccess)
            }
            let short = try await cache.run("watch", "things", "--for", "8")
            #expect(short.status.isSuccess && short.errors.isEmpty && short.lines.first?.hasSuffix("listening") == true)
            let head = try await whileWriting(level) {
                try await CommandRun.of(
                    "\"$0\" watch things | head -n 1",
                    environment: ["STRATA_REDIS_URL": cache.server.url]
                )
            }
            #expect(head.lines.count == 1 && head.errors.isEmpty)
        }
    }

    @Test("no keyspace, no server, no right and a bad argument are told in one line")
    func missing() async throws {
        let looker = "user looker on >pw \(AccessRules(for: [.look], keyspaces: ["things"]))"
        try await Cache.with(.init(directives: [.init(stringLiteral: looker)])) { cache in
            try await cache.level(.text).set("value", for: Array("a".utf8))
            try await cache.run("watch", "thigns").expectFailure(3, saying: "did you mean 'things'?")
            try await cache.run("watch", "things", "--url", "redis://127.0.0.1:1")
                .expectFailure(1, saying: "127.0.0.1:1")
            let environment = [
                "STRATA_REDIS_URL": cache.server.url.replacing("://", with: "://looker@"),
                "STRATA_REDIS_PASSWORD": "pw",
            ]
            try await cache.run("watch", "things", environment: environment)
                .expectFailure(1, saying: "changes are not reported", "NOPERM")
            for arguments in [["--count", "0"], ["--for", "-1"], ["--for", "nan"]] {
                let run = try await CommandRun.of(
                    ["watch", "things"] + arguments,
                    environment: ["STRATA_REDIS_URL": cache.server.url]
                )
                #expect(run.status == .exited(64), "\(arguments)")
            }
        }
    }
}
