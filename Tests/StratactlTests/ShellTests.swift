import Foundation
import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: in a shell", .timeLimit(.minutes(5)))
struct ShellTests {
    @Test("scripts that complete words for each shell, as they are", arguments: ["bash", "zsh", "fish"])
    func scripts(shell: String) async throws {
        let run = try await CommandRun.of(["--generate-completion-script", shell])
        #expect(run.status.isSuccess && run.errors.isEmpty)
        #expect(run.text.contains("stratactl") && run.text.contains("invalidate") && run.text.contains("---completion"))
        // Tabs and the like stand as they are.
        #expect(!run.text.contains("\\u{9}") && !run.text.contains("\\u{1b}"))
        guard shell == "bash" else { return }
        let check = try await CommandRun.of("\"$0\" --generate-completion-script bash | bash -n")
        #expect(check.status.isSuccess && check.errors.isEmpty, "\(check.errorText)")
    }

    /// What the shell is told for the argument at a place.
    private func words(
        _ command: String,
        _ line: [String],
        environment: [String: String?] = [:]
    ) async throws -> [String] {
        let place = String(line.count - 1)
        let run = try await CommandRun.of(
            ["---completion", command, "--", "positional@0", place, "0"] + line,
            environment: environment
        )
        #expect(run.status.isSuccess && run.errors.isEmpty, "\(run.errorText)")
        run.expectHarmless()
        return run.lines
    }

    /// Returns when the shell is told these: a person is typing, so a server that is slow for a moment has no names.
    private func offers(
        _ expected: [String],
        _ command: String,
        _ line: [String],
        environment: [String: String?] = [:]
    ) async throws {
        while try await words(command, line, environment: environment) != expected {}
    }

    @Test("the keyspaces of the server that the line names are offered, and nothing that a shell would run")
    func keyspaces() async throws {
        try await Cache.with { cache in
            for name in ["things", "others", "a b", "x;reboot", "$(reboot)", "\u{1b}[2J"] {
                try await RedisLevel<String, String>(cache.redis, keyspace: Keyspace(name), codec: .text)
                    .set("v", for: "k")
            }
            try await RedisLevel<String, String>(cache.redis, keyspace: Keyspace("shops", prefix: "app"), codec: .text)
                .set("v", for: "k")
            let url = cache.server.url
            let environment = ["STRATA_REDIS_URL": url]
            try await offers(["others", "things"], "keys", ["stratactl", "keys", ""], environment: environment)
            try await offers(["others", "things"], "why", ["stratactl", "why", "--url", url, ""])
            try await offers(["shops"], "keys", ["stratactl", "keys", "--prefix=app", ""], environment: environment)
            // Nothing is said of what goes wrong: a person is typing.
            #expect(try await words("keys", ["stratactl", "keys", "--url", "redis://127.0.0.1:1", ""]) == [])
            #expect(try await words("keys", ["stratactl", "keys", "--url", "nonsense", ""]) == [])
        }
    }

    #if os(Linux)
    /// The output of a command on a terminal.
    private func terminal(_ arguments: String, _ environment: [String: String?]) async throws -> String {
        let run = try await CommandRun.of(
            "export PROGRAM=\"$0\"; script -qec '\"$PROGRAM\" \(arguments)' /dev/null </dev/null",
            environment: ["SHELL": "/bin/sh", "TERM": "xterm"].merging(environment) { $1 }
        )
        return run.text
    }

    @Test("severities have colours on a terminal, unless NO_COLOR is set; and nowhere else")
    func colours() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("value", for: Array("a".utf8))
            let environment: [String: String?] = ["STRATA_REDIS_URL": cache.server.url]
            for command in ["doctor", "why things a --wait 0"] {
                #expect(try await terminal(command, environment).contains("\u{1b}[32m"))
                for off in [["NO_COLOR": "1"], ["TERM": "dumb"]] as [[String: String?]] {
                    #expect(try await !terminal(command, environment.merging(off) { $1 }).contains("\u{1b}"))
                }
                // Empty is not set.
                #expect(try await terminal(command, environment.merging(["NO_COLOR": ""]) { $1 }).contains("\u{1b}["))
                let piped = try await CommandRun.of(
                    command.split(separator: " ").map(String.init),
                    environment: environment
                )
                #expect(!piped.text.contains("\u{1b}"))
                #expect(try await !terminal("\(command) --format json", environment).contains("\u{1b}"))
            }
            // A key that brings colours of its own brings escapes.
            let name = RedisKey("strata:things:v:{b\u{1b}[31m}")
            try await cache.redis.set(name, [1])
            #expect(try await !terminal("why things b%1b --wait 0", environment).contains("\u{1b}[31m"))
        }
    }
    #endif

    #if os(Linux)
    @Test("Ctrl-C ends a command at any time, or has it tell what it has by then")
    func interrupted() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("value", for: Array("a".utf8))
            for arguments in ["watch things", "bench --seconds 60", "verify things", "top things --format plain"] {
                // Whatever the program has come to by then.
                for delay in ["0.05", "1"] {
                    let run = try await CommandRun.of(
                        "timeout --preserve-status -s INT \(delay) \"$0\" \(arguments); echo \"status $?\" >&2",
                        environment: ["STRATA_REDIS_URL": cache.server.url]
                    )
                    run.expectHarmless()
                    let status = run.errorLines.last
                    #expect(["status 0", "status 1", "status 130"].contains(status), "\(arguments): \(run.errorText)")
                }
            }
        }
    }
    #endif
}
