import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: measuring a server", .timeLimit(.minutes(5)))
struct BenchTests {
    @Test(
        "it only reads unless it is asked to write, and says what it does to whom",
        arguments: ["table", "plain", "json"]
    )
    func reads(format: String) async throws {
        try await Cache.with { cache in
            let run = try await cache.run("bench", "--seconds", "1", "--tasks", "4", "--format", format)
            #expect(run.status.isSuccess, "\(run.errorText)")
            #expect(run.errorLines.count == 1)
            #expect(run.errorText.contains("4 tasks ask 127.0.0.1:") && run.errorText.contains("for 2 s"))
            switch format {
            case "json":
                let json = try run.json()
                let results = json["results"]?.elements ?? []
                #expect(results.map { $0["command"] } == [.string("PING"), .string("GET, no value")])
                #expect(results.allSatisfy { ($0["calls"]?.number ?? 0) > 0 && $0["failed"] == .number(0) })
                for result in results {
                    let times = ["medianMicroseconds", "p95Microseconds", "p99Microseconds", "longestMicroseconds"]
                        .compactMap { result[$0]?.number }
                    #expect(times.count == 4 && times == times.sorted() && times[0] > 0)
                }
            case "plain": #expect(run.lines.count == 2 && run.lines.allSatisfy { $0.split(separator: "\t").count == 8 })
            default: #expect(run.lines.count == 3 && run.lines[0].hasPrefix("COMMAND"))
            }
            #expect(try await cache.server.command("DBSIZE").integer == 0)
        }
    }

    @Test("it writes with --writes and --yes alone, under a name of its own, and leaves nothing behind")
    func writes() async throws {
        try await Cache.with { cache in
            try await cache.run("bench", "--writes")
                .expectFailure(
                    2,
                    saying: "nothing was sent; --yes writes 100 keys of 100 B under strata:stratactl-bench at "
                )
            let run = try await cache.run("bench", "--writes", "--yes", "--seconds", "0.2", "--format", "json")
            #expect(run.status.isSuccess, "\(run.errorText)")
            let commands = try run.json()["results"]?.elements.compactMap { $0["command"]?.string }
            #expect(commands == ["PING", "GET, no value", "SET", "GET"])
            #expect(try await cache.server.command("DBSIZE").integer == 0)
        }
    }

    @Test(
        "a user who may not write, and a server that is not there, end it in one line; keys that it cannot remove expire"
    )
    func failures() async throws {
        let looker = RedisServer.Directive(
            stringLiteral: "user looker on nopass \(AccessRules(for: [.look]).description)"
        )
        try await Cache.with(.init(directives: [looker])) { cache in
            let url = cache.server.url.replacing("://", with: "://looker@")
            let run = try await cache.run(
                "bench",
                "--writes",
                "--yes",
                "--seconds",
                "0.1",
                environment: ["STRATA_REDIS_URL": url, "STRATA_REDIS_PASSWORD": "any"]
            )
            #expect(run.status == .exited(1))
            #expect(run.errorLines.last?.contains("NOPERM") == true, "\(run.errorText)")
            #expect(try await cache.server.command("DBSIZE").integer == 0)
        }
        try await CommandRun.of(["bench", "--url", "redis://127.0.0.1:1"]).expectFailure(1, saying: "127.0.0.1:1")
    }

    @Test("it is bounded")
    func bounds() async throws {
        for arguments in [
            ["--seconds", "0"], ["--seconds", "61"], ["--tasks", "0"], ["--tasks", "257"], ["--size", "0"],
            ["--keys", "10001"],
            ["--keys", "10000", "--size", "1048576"],
        ] {
            let run = try await CommandRun.of(["bench"] + arguments)
            #expect(run.status == .exited(64) && run.output.isEmpty, "\(arguments)")
        }
    }
}
