import Foundation
import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: verify", .timeLimit(.minutes(5)))
struct VerifyTests {
    /// Changes keys again and again while the body runs.
    private func withChanges(_ tellers: [Teller], _ body: () async throws -> Void) async throws {
        let work = Task {
            var number = 0
            while !Task.isCancelled {
                number += 1
                let key = "key-\(number % 10)"
                _ = try await tellers[number % tellers.count].cache.set("secret", for: key)
                _ = try await tellers[(number + 1) % tellers.count].cache.get(key)
                try await Task.pause(for: .milliseconds(10))
            }
        }
        defer { work.cancel() }
        try await body()
    }

    private func run(_ cache: Cache, _ format: String) async throws -> CommandRun {
        try await cache.run(
            "verify",
            "things",
            "--seconds",
            "4",
            "--delays",
            "0.1,0.5",
            "--rate",
            "60",
            "--format",
            format
        )
    }

    @Test("nines by delay of instances at work, in each format; nothing is wrong, and no value is shown")
    func calm() async throws {
        try await Cache.withTellers("web-1/7", "web-2/8") { cache, tellers in
            try await withChanges(tellers) {
                var table = try await run(cache, "table")
                // Instances on a busy machine may be late with all their answers, and then nothing is said of the
                // nines.
                while table.status.isSuccess, !table.text.contains("≥ ") { table = try await run(cache, "table") }
                #expect(table.status.isSuccess, "\(table.text)\(table.errorText)")
                table.expectHarmless()
                #expect(table.lines.count == 3 && table.lines[0].hasPrefix(" AFTER  CHECKS  INCONSISTENT  NINES"))
                #expect(table.lines[1].hasPrefix("100 ms") && table.lines[2].hasPrefix("500 ms"))
                #expect(!table.text.contains("secret"))
                let plain = try await run(cache, "plain")
                #expect(plain.status.isSuccess && plain.lines.count == 2)
                #expect(plain.lines.allSatisfy { $0.hasPrefix("delay\t") && $0.split(separator: "\t").count == 9 })
                var json = try await run(cache, "json").json()
                while json["delays"]?.elements.contains(where: { $0["checks"] == .number(0) }) != false {
                    json = try await run(cache, "json").json()
                }
                #expect(json["instances"] == .number(2) && json["inconsistencies"]?.elements.isEmpty == true)
                let delays = try #require(json["delays"]?.elements)
                #expect(delays.map { $0["afterSeconds"] } == [.number(0.1), .number(0.5)])
                for delay in delays {
                    #expect(try #require(delay["checks"]?.number) > 0 && delay["inconsistent"] == .number(0))
                    #expect(delay["nines"] != nil)
                }
                #expect(json["buckets"]?.elements.isEmpty == false && json["keyspace"] == .string("strata:things"))
            }
        }
    }

    @Test("an inconsistency is shown with its key and cause, and the status is 1")
    func inconsistent() async throws {
        try await Cache.withTellers("web-1/7\u{1b}", "web-2/8") { cache, tellers in
            // Beside the composition: nothing voids it.
            try await tellers[0].memory.set("secret", for: "a\u{1b}")
            while try #require(tellers[0].memory.glimpse("a\u{1b}")).leastAge < .seconds(4) { try await nextTurn() }
            let work = Task {
                while !Task.isCancelled {
                    try await tellers[1].cache.set("new", for: "a\u{1b}")
                    try await Task.pause(for: .milliseconds(200))
                }
            }
            defer { work.cancel() }
            /// Runs until something is found: between two looks at a busy machine the value may have changed each time.
            func find(_ format: String) async throws -> CommandRun {
                while true {
                    let arguments = ["--seconds", "6", "--delays", "0.2", "--format", format]
                    let run = try await CommandRun.of(
                        ["verify", "things"] + arguments,
                        environment: ["STRATA_REDIS_URL": cache.server.url]
                    )
                    guard run.status.isSuccess else { return run }
                }
            }
            let table = try await find("table")
            #expect(table.status == .exited(1), "\(table.text)\(table.errorText)")
            table.expectHarmless()
            #expect(table.errorText.contains(" found") && !table.text.contains("secret"))
            let row = try #require(table.lines.first { $0.hasPrefix("a\\x1b") })
            #expect(
                row.contains("web-1/7\\x1b") && row.contains("no stamp") && row.contains("it heard of the change")
            )
            let json = try await find("json")
            #expect(json.status == .exited(1))
            let finding = try #require(json.json()["inconsistencies"]?.elements.first)
            #expect(finding["key"] == .string("a\u{1b}") && finding["cause"] == .string("heardAndKept"))
            #expect(finding["stored"] == .string("entry") && finding["version"] == nil)
        }
    }

    @Test("Ctrl-C ends it with what there is, also where it comes twice, as it does to a program and its group")
    func interrupted() async throws {
        try await Cache.withTellers("web-1/7") { cache, tellers in
            try await withChanges(tellers) {
                var run: CommandRun
                repeat {
                    run = try await CommandRun.of(
                        """
                        "$0" verify things --delays 0.1 &
                        PID=$!
                        sleep 4
                        kill -TERM $PID
                        sleep 0
                        kill -TERM $PID 2>/dev/null
                        wait $PID
                        echo "status $?"
                        """,
                        environment: ["STRATA_REDIS_URL": cache.server.url]
                    )
                    // On a busy machine it may not have begun to look for signals.
                } while run.lines.last == "status 143"
                #expect(run.lines.last == "status 0" && run.lines.first?.hasPrefix(" AFTER") == true, "\(run.text)")
            }
        }
    }

    @Test("no instance, no change, no keyspace, no server, no right and a bad argument are told in one line")
    func missing() async throws {
        let looker = "user looker on >pw \(AccessRules(for: [.look], keyspaces: ["things"], serverVersion: 7))"
        let configuration = RedisServer.Configuration(directives: [.init(stringLiteral: looker)])
        try await Cache.withTellers("web-1/7", configuration: configuration) { cache, _ in
            try await cache.run("verify", "thigns").expectFailure(3, saying: "did you mean 'things'?")
            try await cache.run("verify", "things", "--url", "redis://127.0.0.1:1")
                .expectFailure(1, saying: "127.0.0.1:1")
            let calm = try await cache.run("verify", "things", "--seconds", "1")
            #expect(calm.status.isSuccess && calm.errorText.contains("nothing changed"), "\(calm.errorText)")
            let environment = [
                "STRATA_REDIS_URL": cache.server.url.replacing("://", with: "://looker@"),
                "STRATA_REDIS_PASSWORD": "pw",
            ]
            try await cache.run("verify", "things", environment: environment).expectFailure(1, saying: "NOPERM")
            for arguments in [
                ["--seconds", "0"], ["--rate", "0"], ["--rate", "61"], ["--delays", "0.1,x"], ["--limit", "0"],
            ] {
                let run = try await CommandRun.of(
                    ["verify", "things"] + arguments,
                    environment: ["STRATA_REDIS_URL": cache.server.url]
                )
                #expect(run.status == .exited(64), "\(arguments)")
            }
        }
        try await Cache.with { cache in
            try await cache.level(.text).set("value", for: Array("a".utf8))
            let none = try await cache.run("verify", "things", "--seconds", "1")
            #expect(none.status.isSuccess && none.errorText.contains("no instance is listed"))
        }
    }
}
