import Foundation
import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: reaching the server and logging in", .timeLimit(.minutes(5)))
struct LoginTests {
    private static let password = "hunter2 \u{fc}ber%@:/"

    @Test("the password comes from a file, a variable or the URL's variable, in this order")
    func sources() async throws {
        try await Cache.with(.init(credentials: .init(password: Self.password))) { cache in
            let url = cache.server.url
            let encoded = "hunter2%20%C3%BCber%25%40%3A%2F"
            let inURL = url.replacingOccurrences(of: "://", with: "://:\(encoded)@")
            try await withFile(Self.password + "\n", mode: 0o600) { file in
                for (arguments, environment) in [
                    (["ping", "--password-file", file], ["STRATA_REDIS_URL": url]),
                    (["ping", "--password-file", file], ["STRATA_REDIS_URL": url, "STRATA_REDIS_PASSWORD": "wrong"]),
                    (["ping"], ["STRATA_REDIS_URL": url, "STRATA_REDIS_PASSWORD": Self.password]),
                    (
                        ["ping"],
                        [
                            "STRATA_REDIS_URL": inURL.replacingOccurrences(of: encoded, with: "wrong"),
                            "STRATA_REDIS_PASSWORD": Self.password,
                        ]
                    ),
                    (["ping"], ["STRATA_REDIS_URL": inURL]),
                    (["ping", "--url", url, "--password-file", file], ["STRATA_REDIS_URL": "redis://127.0.0.1:1"]),
                    (["ping", "--url", url], ["STRATA_REDIS_PASSWORD": Self.password]),
                ] {
                    let run = try await CommandRun.of(arguments, environment: environment)
                    #expect(run.status.isSuccess, "\(arguments) \(environment): \(run.errorText)")
                    #expect(run.errors.isEmpty)
                    expectSecret(run)
                }
                // It works, and says what is wrong with it.
                let other = ["STRATA_REDIS_PASSWORD": "another server's"]
                let visible = try await CommandRun.of(["ping", "--url", inURL], environment: other)
                #expect(visible.status.isSuccess)
                #expect(visible.errorText.contains("every user of this machine can read the password in --url"))
                expectSecret(visible)
            }
        }
    }

    @Test("a wrong or missing password is one line with the server and not the password")
    func refused() async throws {
        try await Cache.with(.init(credentials: .init(password: "right"))) { cache in
            let port = try #require(cache.server.port)
            for format in ["table", "json"] {
                for command in [["ping"], ["keyspaces"], ["get", "things", "a"], ["clear", "things", "--yes"]] {
                    let run = try await CommandRun.of(
                        command + ["--format", format],
                        environment: ["STRATA_REDIS_URL": cache.server.url, "STRATA_REDIS_PASSWORD": "hunter2"]
                    )
                    run.expectFailure(1, saying: "authentication failed", "127.0.0.1:\(port)")
                    expectSecret(run)
                }
            }
            let missing = try await cache.run("ping")
            missing.expectFailure(1, saying: "authentication failed", "127.0.0.1:\(port)")
        }
    }

    @Test("the rights that `acl` prints are enough, and looking needs no others", arguments: [false, true])
    func rights(ofOneKeyspace: Bool) async throws {
        func user(_ name: String, for purpose: String) async throws -> RedisServer.Directive {
            let run = try await CommandRun.of(
                ["acl", "--for", purpose, "--user", name] + (ofOneKeyspace ? ["things"] : [])
            )
            #expect(run.status.isSuccess && run.errors.isEmpty)
            let words = try #require(run.lines.first).replacing("PASSWORD", with: "pw").split(separator: " ")
            #expect(words.prefix(3) == ["ACL", "SETUSER", name[...]])
            return .init(stringLiteral: (["user"] + words.dropFirst(2)).joined(separator: " "))
        }
        let directives = [try await user("looker", for: "look"), try await user("remover", for: "remove")]
        try await Cache.with(.init(directives: directives)) { cache in
            try await cache.level(.text).set("v", for: Array("a".utf8))
            try await cache.redis.set("strata:things:l:{a}", [1])
            func run(as user: String, _ arguments: [String]) async throws -> CommandRun {
                let url = cache.server.url.replacingOccurrences(of: "://", with: "://\(user)@")
                return try await CommandRun.of(
                    arguments,
                    environment: ["STRATA_REDIS_URL": url, "STRATA_REDIS_PASSWORD": "pw"]
                )
            }
            for arguments in [
                ["ping"], ["keyspaces"], ["keys", "things"], ["get", "things", "a", "--value"], ["ttl", "things", "a"],
                ["leases", "things"],
            ] {
                let seen = try await run(as: "looker", arguments)
                #expect(seen.status.isSuccess && seen.errors.isEmpty, "\(arguments): \(seen.errorText)")
            }
            let removals = [["remove", "things", "a"], ["clear", "things"]]
            for arguments in removals {
                #expect(try await run(as: "looker", arguments).status == .exited(2))
                #expect(try await run(as: "looker", arguments + ["--yes"]).status == .exited(1))
            }
            #expect(try await cache.size() == 2)
            for arguments in removals {
                let done = try await run(as: "remover", arguments + ["--yes"])
                #expect(done.status.isSuccess, "\(arguments): \(done.errorText)")
            }
            #expect(try await cache.size() == 0)
        }
    }

    @Test("acl prints one line for redis-cli, or JSON, and asks no server; the documentation quotes it")
    func accessRules() async throws {
        let run = try await CommandRun.of(["acl", "a*b c", "--prefix", "x[y]"])
        #expect(run.status.isSuccess)
        #expect(run.lines.count == 1)
        #expect(
            run.text.contains(#" "~x\\[y\\]:a\\*b?c:*" "&x\\[y\\]:a\\*b?c:ev" &__redis__:invalidate "#),
            "\(run.text)"
        )
        let json = try await CommandRun.of(["acl", "things", "--format", "json", "--database", "3"]).json()
        #expect(json["keys"] == .array([.string("strata:things:*")]))
        #expect(json["commands"]?.elements.contains(.string("select")) == true)

        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "SECURITY.md")
        let words = try String(contentsOf: page, encoding: .utf8).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        for (purpose, user) in [("cache", "cache"), ("sweep", "sweeper"), ("look", "looker"), ("remove", "remover")] {
            let line = try await CommandRun.of(["acl", "--prefix", "app", "--for", purpose, "--user", user]).lines[0]
            #expect(words.contains(line), "SECURITY.md does not quote: \(line)")
        }
    }

    @Test("a server that quotes the arguments of AUTH does not bring the password on the screen")
    func quotedPassword() async throws {
        try await Cache.with(.init(directives: ["rename-command AUTH \"\""])) { cache in
            let run = try await cache.run("ping", environment: ["STRATA_REDIS_PASSWORD": "hunter2"])
            run.expectFailure(1, saying: "authentication failed", "127.0.0.1:")
            expectSecret(run)
        }
    }

    @Test("a refused port, an unresolvable name and a socket that is not there are one line that names them")
    func unreachable() async throws {
        for (url, named) in [
            ("redis://someone:hunter2@127.0.0.1:1", "127.0.0.1:1"),
            ("redis://:hunter2@no-such-host.invalid:6380", "no-such-host.invalid:6380"),
            ("unix://:hunter2@/nowhere/redis.sock", "/nowhere/redis.sock"),
        ] {
            let run = try await CommandRun.of(["ping"], environment: ["STRATA_REDIS_URL": url])
            run.expectFailure(1, saying: "connection failed", named)
            expectSecret(run)
        }
    }

    @Test(
        "an address that cannot be used is one line that does not quote it",
        arguments: [
            "hunter2", "redis://:hunter2@", "redis://:hunter2@host:port", "http://:hunter2@host",
            "redis://:hunter2@h/x",
            "rediss://:hunter2@host?x=1", "redis://:hunter2%@host",
        ]
    )
    func badAddress(url: String) async throws {
        let run = try await CommandRun.of(["ping"], environment: ["STRATA_REDIS_URL": url])
        run.expectFailure(64, saying: "STRATA_REDIS_URL: ")
        expectSecret(run)
        let argument = try await CommandRun.of(["ping", "--url", url])
        #expect(argument.status == .exited(64))
        expectSecret(argument)
    }

    @Test("a password file is for its owner alone, regular, short and of one line")
    func passwordFile() async throws {
        for mode in [0o640, 0o604, 0o660, 0o620, 0o601, 0o644] {
            try await withFile("hunter2", mode: mode) { file in
                let run = try await CommandRun.of(["ping", "--password-file", file])
                run.expectFailure(64, saying: "others may use it")
                expectSecret(run)
            }
        }
        for content in ["", "\n", "hunter2\nmore", String(repeating: "hunter2", count: 1000)] {
            try await withFile(content, mode: 0o600) { file in
                let run = try await CommandRun.of(["ping", "--password-file", file])
                run.expectFailure(64, saying: "the password file: ")
                expectSecret(run)
            }
        }
        for file in ["/dev/null", "/", "/nowhere/hunter2"] {
            let run = try await CommandRun.of(["ping", "--password-file", file])
            run.expectFailure(64, saying: "the password file: ")
            expectSecret(run)
        }
    }

    @Test("a password given as an argument is refused and not repeated")
    func passwordArgument() async throws {
        for arguments in [
            ["--password", "hunter2"], ["--password=hunter2"], ["-a", "hunter2"], ["--pass", "hunter2"],
        ] {
            let run = try await CommandRun.of(["ping"] + arguments)
            #expect(run.status == .exited(64))
            expectSecret(run)
        }
    }

    @Test(
        "arguments that make no sense are a matter of usage",
        arguments: [
            ["ping", "--count", "0"], ["keys", "things", "--match", "["], ["keys", "things", "--limit", "-1"],
            ["keys", "things", "--print0", "--format", "json"], ["get", "things"],
            ["get", "things", "a", "--max-bytes", "-1"],
            ["get", "things", "--escaped", "a\\"], ["get", "th\\ings", "--escaped", "a"], ["remove", "things"],
            ["nonsense"],
            ["acl", "--for", "everything"], ["acl", "--user", "a b"],
            ["keyspaces", "--samples", "1001"], ["keys", "things", "--format", "xml"],
        ]
    )
    func usage(arguments: [String]) async throws {
        let run = try await CommandRun.of(arguments, environment: ["STRATA_REDIS_URL": "redis://127.0.0.1:1"])
        #expect(run.status == .exited(64), "\(run.errorText)")
        #expect(run.output.isEmpty)
    }

    @Test("the help lists commands and exit statuses")
    func help() async throws {
        let run = try await CommandRun.of(["--help"])
        #expect(run.status.isSuccess)
        #expect(run.errors.isEmpty)
        for word in [
            "ping", "keyspaces", "keys", "get", "ttl", "leases", "remove", "clear", "acl", "EXIT STATUS", "--yes",
        ] {
            #expect(run.text.contains(word))
        }
    }

    private func expectSecret(_ run: CommandRun, _ location: SourceLocation = #_sourceLocation) {
        #expect(!run.text.contains("hunter2") && !run.errorText.contains("hunter2"), sourceLocation: location)
    }

    private func withFile(_ content: String, mode: Int, _ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "stratactl-\(UUID().uuidString)").path
        try #require(FileManager.default.createFile(atPath: file, contents: Data(content.utf8)))
        defer { try? FileManager.default.removeItem(atPath: file) }
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        try await body(file)
    }
}
