import Foundation
import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: top", .timeLimit(.minutes(5)))
struct TopTests {
    @Test("rates, hits by level, percentiles and the hottest keys of instances at work, in each format")
    func pages() async throws {
        try await Cache.withTellers("web-1/7", "web-2/8") { cache, tellers in
            let work = Task {
                var number = 0
                while !Task.isCancelled {
                    number += 1
                    for teller in tellers {
                        _ = try await teller.cache.get("hot\u{1b}")
                        _ = try await teller.cache.get("key-\(number)")
                    }
                    try await nextTurn()
                }
            }
            defer { work.cancel() }
            /// Whether both have answered twice, and have worked in between.
            func isWhole(_ json: JSONNode) -> Bool {
                let rates = (json["instances"]?.elements ?? [])
                    .map { $0["silent"] == .bool(false) ? $0["requestsPerSecond"]?.number ?? 0 : 0 }
                return rates.count == 2 && rates.allSatisfy { $0 > 0 } && json["fetchesPerSecond"]?.number ?? 0 > 0
            }
            var json = try await cache.run("top", "things", "--format", "json", "--count", "1", "--keys", "3").json()
            while !isWhole(json) {
                json = try await cache.run("top", "things", "--format", "json", "--count", "1", "--keys", "3").json()
            }
            #expect(try #require(json["requestsPerSecond"]?.number) > 0)
            #expect(try #require(json["fetchesPerSecond"]?.number) > 0)
            let first = try #require(json["instances"]?.elements.first)
            #expect(first["figures"]?["name"] == .string("web-1/7"))
            #expect(try #require(first["requestsPerSecond"]?.number) > 0)
            #expect(json["hottest"]?.elements.contains(.string("hot\\x1b")) == true, "\(json)")
            #expect((1...3).contains(json["hottest"]?.elements.count ?? 0))
            #expect(first["figures"]?["durations"]?["call"] != nil)
            let table = try await cache.run("top", "things", "--count", "2", "--interval", "0.2")
            #expect(table.status.isSuccess && table.errors.isEmpty)
            table.expectHarmless()
            #expect(table.lines.count { $0.hasPrefix("INSTANCE") } == 2)
            #expect(table.lines.count { $0.hasPrefix("web-2/8") } == 2)
            #expect(table.text.contains("median "))
            let plain = try await cache.run("top", "things", "--format", "plain", "--count", "1", "--interval", "0.2")
            #expect(plain.lines.count == 2 && plain.lines.allSatisfy { $0.split(separator: "\t").count == 7 })
            let head = try await CommandRun.of(
                "\"$0\" top things --interval 0.2 | head -n 1",
                environment: ["STRATA_REDIS_URL": cache.server.url]
            )
            #expect(head.lines.count == 1 && head.errors.isEmpty)
        }
    }

    @Test("a thousand instances that lie or are silent are shown, harmless and in time")
    func liars() async throws {
        try await Cache.withTellers("web-1/7") { cache, _ in
            try await cache.list((1..<1000).map { (cache.number($0), $0 % 2 == 0 ? [0x1b, 0x5b] : []) })
            let run = try await cache.run("top", "things", "--count", "1", "--interval", "0.2")
            #expect(run.status.isSuccess)
            run.expectHarmless()
            #expect(run.text.contains("1000, 999 silent") || run.text.contains("1000, 1000 silent"))
            #expect(run.text.contains("its record cannot be read"))
        }
    }

    @Test("a server that goes away and comes back is waited for")
    func restart() async throws {
        try await Cache.withTellers("web-1/7") { cache, _ in
            try await cache.running("top", "things", "--format", "json", "--interval", "0.2") { process, line in
                #expect(await line { $0.contains("web-1/7") } != nil)
                try await cache.server.kill()
                // Longer than it takes to ask again.
                try await Task.pause(for: .seconds(1))
                try await cache.server.restart(keepingData: true)
                // One of before may lie in the pipe; those of a server without it have no instance for a moment.
                for _ in 0..<3 { #expect(await line { $0.contains("web-1/7") } != nil) }
                try process.signal(SIGINT)
                _ = try await process.waitForExit()
            }
        }
    }

    @Test("no keyspace, no server, no right and a bad argument are told in one line")
    func missing() async throws {
        let looker = "user looker on >pw \(AccessRules(for: [.look], keyspaces: ["things"]))"
        let configuration = RedisServer.Configuration(directives: [.init(stringLiteral: looker)])
        try await Cache.withTellers("web-1/7", configuration: configuration) { cache, _ in
            try await cache.run("top", "thigns").expectFailure(3, saying: "did you mean 'things'?")
            try await cache.run("top", "things", "--url", "redis://127.0.0.1:1").expectFailure(1, saying: "127.0.0.1:1")
            let environment = [
                "STRATA_REDIS_URL": cache.server.url.replacing("://", with: "://looker@"),
                "STRATA_REDIS_PASSWORD": "pw",
            ]
            try await cache.run("top", "things", environment: environment).expectFailure(1, saying: "NOPERM")
            for arguments in [["--count", "0"], ["--interval", "0"], ["--interval", "nan"], ["--keys", "51"]] {
                let run = try await CommandRun.of(
                    ["top", "things"] + arguments,
                    environment: ["STRATA_REDIS_URL": cache.server.url]
                )
                #expect(run.status == .exited(64), "\(arguments)")
            }
        }
    }

    #if os(Linux)
    private static let enter = "\u{1b}[?1049h\u{1b}[?25l"
    private static let leave = "\u{1b}[?25h\u{1b}[?1049l"

    /// Runs `top` on a terminal of 40 columns until its first page is there, and then what ends it.
    private func onTerminal(_ cache: Cache, input: String = "", _ end: String) async throws -> CommandRun {
        try await CommandRun.of(
            """
            export PROGRAM="$0"
            FOLDER=$(mktemp -d)
            (\(input)) | script -qefc 'stty cols 40 rows 40; echo $$ >'"$FOLDER"'/pid; exec "$PROGRAM" top things \
            --interval 0.2' "$FOLDER/page" >/dev/null &
            SCRIPT=$!
            while ! grep -q INSTANCE "$FOLDER/page" 2>/dev/null; do sleep 0.05; done
            \(end)
            wait $SCRIPT
            echo "status $?"
            cat "$FOLDER/page"
            rm -r "$FOLDER"
            """,
            environment: ["STRATA_REDIS_URL": cache.server.url, "SHELL": "/bin/sh"]
        )
    }

    @Test(
        "a signal and `q` give the terminal back, and no line is longer than it is wide",
        arguments: ["INT", "TERM", "HUP", "q"]
    )
    func terminal(ending: String) async throws {
        try await Cache.withTellers("web-1/7") { cache, _ in
            let wait = "while [ ! -e \"$FOLDER/end\" ]; do sleep 0.05; done"
            let end = ": >\"$FOLDER/end\""
            // A program and its group may get the same one each.
            let kill = "kill -\(ending) $(cat \"$FOLDER/pid\")"
            let twice = "\(kill); sleep 0; \(kill) 2>/dev/null; \(end)"
            let run =
                ending == "q"
                ? try await onTerminal(cache, input: "\(wait); printf q; sleep 2", end)
                : try await onTerminal(cache, input: wait, twice)
            let text = run.text
            #expect(text.components(separatedBy: Self.enter).count == 2, "\(text.debugDescription)")
            #expect(text.components(separatedBy: Self.leave).count == 2)
            let pages = try #require(text.components(separatedBy: Self.enter).last).components(separatedBy: Self.leave)
            try #require(pages.count == 2)
            // Nothing is drawn on the first page.
            #expect(!pages[1].contains("INSTANCE") && !pages[1].contains("\u{1b}"))
            for page in pages[0].components(separatedBy: "\u{1b}[H").dropFirst() {
                let lines = page.replacing("\u{1b}[K", with: "").replacing("\u{1b}[J", with: "")
                    .split(whereSeparator: \.isNewline)
                #expect(lines.count <= 40)
                for line in lines { #expect(line.count <= 40, "\(line)") }
            }
            if ending == "q" { #expect(text.hasPrefix("status 0")) }
        }
    }
    #endif
}
