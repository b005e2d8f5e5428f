import Foundation
import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: servers with names", .timeLimit(.minutes(5)))
struct ContextTests {
    /// Runs `body` with a configuration file in a folder of its own, and what a run needs to find it.
    private func withFile(
        _ text: String?,
        mode: Int = 0o600,
        _ body: (_ file: URL, _ environment: [String: String?]) async throws -> Void
    ) async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "contexts-\(UUID().uuidString)")
        let file = home.appending(path: "stratactl/config.json")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        if let text {
            try Data(text.utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        }
        try await body(file, ["XDG_CONFIG_HOME": home.path])
    }

    private static let text = """
        {
            // Where the deputies look first.
            "context": "staging",
            "contexts": {
                "staging": { "url": "redis://ops@staging.example:6380/3" },
                "shop": { "url": "rediss://shop.example", "prefix": "shop" },
                'odd\\u001b[2J': { "url": "redis://odd.example" },
            },
        }
        """

    /// The settings that apply: value and source by name.
    private func settings(
        _ arguments: [String],
        _ environment: [String: String?]
    ) async throws -> [String: [String]] {
        let run = try await CommandRun.of(["config", "--format", "json"] + arguments, environment: environment)
        #expect(run.status.isSuccess, "\(run.errorText)")
        var found: [String: [String]] = [:]
        for setting in try run.json().elements {
            found[setting["name"]?.string ?? ""] = [setting["value"]?.string ?? "", setting["from"]?.string ?? ""]
        }
        return found
    }

    @Test("the file's own context applies where nothing else is named; an option and a variable name another")
    func applies() async throws {
        try await withFile(Self.text) { file, environment in
            let standard = try await settings([], environment)
            #expect(standard["file"]?[0] == file.path && standard["context"] == ["staging", file.path])
            #expect(standard["server"] == ["staging.example:6380", "context staging"])
            #expect(standard["user"]?[0] == "ops" && standard["database"]?[0] == "3")
            #expect(standard["prefix"] == ["strata", "default"])
            let option = try await settings(["--context", "shop"], environment)
            #expect(option["context"] == ["shop", "--context"] && option["server"]?[0] == "shop.example:6379")
            #expect(option["prefix"] == ["shop", "context shop"])
            #expect(
                try await settings(["--context", "shop", "--prefix", "x"], environment)["prefix"] == ["x", "--prefix"]
            )
            let variable = environment.merging(["STRATACTL_CONTEXT": "shop"]) { $1 }
            #expect(try await settings([], variable)["context"] == ["shop", "STRATACTL_CONTEXT"])
            #expect(try await settings(["--context", "staging"], variable)["context"]?[0] == "staging")
            // An address counts more than a name, and a name that was asked for more than an address of the
            // environment.
            let address = variable.merging(["STRATA_REDIS_URL": "redis://other.example"]) { $1 }
            let other = try await settings([], address)
            #expect(
                other["server"] == ["other.example:6379", "STRATA_REDIS_URL"]
                    && other["context"] == ["none", "default"]
            )
            #expect(other["prefix"] == ["strata", "default"])
            #expect(try await settings(["--context", "shop"], address)["server"]?[0] == "shop.example:6379")
            let url = try await settings(["--url", "redis://third.example"], variable)
            #expect(url["server"] == ["third.example:6379", "--url"])
        }
        try await withFile(nil) { file, environment in
            let none = try await settings([], environment)
            #expect(none["file"]?[0] == "\(file.path), not there" && none["context"] == ["none", "default"])
            #expect(none["server"] == ["127.0.0.1:6379", "default"])
            // By the rules of the XDG folders a path that is not absolute is none.
            let home = try await settings([], ["XDG_CONFIG_HOME": "relative", "HOME": "/nobody"])
            #expect(home["file"]?[0] == "/nobody/.config/stratactl/config.json, not there")
        }
    }

    @Test("the servers are listed as a table, as cells and as JSON, with the one that applies, and without a password")
    func listed() async throws {
        try await withFile(Self.text.replacing("//shop.example", with: "//x:hunter2@shop.example")) { _, environment in
            for format in ["table", "plain", "json"] {
                let run = try await CommandRun.of(
                    ["config", "--contexts", "--format", format],
                    environment: environment
                )
                #expect(run.status.isSuccess && run.errors.isEmpty, "\(run.errorText)")
                if format != "plain" { run.expectHarmless() }
                #expect(!run.text.contains("hunter2"))
                switch format {
                case "table":
                    #expect(run.lines.count == 4 && run.lines[0].hasPrefix("CONTEXT"))
                    #expect(run.lines.contains { $0.hasPrefix("staging *") && $0.contains("staging.example:6380") })
                case "plain": #expect(run.lines.contains("shop\tshop.example:6379\tx\tshop\t-"))
                default:
                    let rows = try run.json().elements
                    #expect(rows.map { $0["name"]?.string } == ["odd\u{1b}[2J", "shop", "staging"])
                    #expect(rows.map { $0["applies"]?.bool } == [false, false, true])
                }
            }
        }
        try await withFile(nil) { _, environment in
            let run = try await CommandRun.of(["config", "--contexts"], environment: environment)
            #expect(run.status.isSuccess && run.errorText.contains("no server has a name"))
        }
    }

    @Test("a server is reached by its name, with the password of its file and not with the environment's")
    func reached() async throws {
        try await Cache.with(.init(credentials: .init(password: "right"))) { cache in
            try await withFile("{}") { file, environment in
                let secret = file.deletingLastPathComponent().appending(path: "password")
                try Data("right\n".utf8).write(to: secret)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret.path)
                let text =
                    #"{"contexts": {"here": {"url": "\#(cache.server.url)", "passwordFile": "\#(secret.path)"}}}"#
                try Data(text.utf8).write(to: file)
                let wrong = environment.merging(["STRATA_REDIS_PASSWORD": "wrong"]) { $1 }
                let run = try await CommandRun.of(["ping", "--context", "here", "--count", "1"], environment: wrong)
                #expect(run.status.isSuccess, "\(run.errorText)")
                // The home is put in.
                let home = wrong.merging(["HOME": file.deletingLastPathComponent().path]) { $1 }
                try Data(text.replacing(secret.path, with: "~/password").utf8).write(to: file)
                let tilde = try await CommandRun.of(["ping", "--context", "here", "--count", "1"], environment: home)
                #expect(tilde.status.isSuccess, "\(tilde.errorText)")
                let option = try await CommandRun.of(
                    ["ping", "--context", "here", "--password-file", "/nonexistent"],
                    environment: home
                )
                option.expectFailure(64, saying: "the password file: ")
            }
        }
    }

    @Test("what is wrong with the file is told in one line, which names it and quotes nothing of an address")
    func broken() async throws {
        for (text, words) in [
            ("{\n  \"contexts\": {\n    x", "it is not JSON"), ("", "it is not JSON"),
            ("[]", "the whole has the wrong type"),
            ("{\"contxts\": {}}", "'contxts' is not a known member; there are context, contexts"),
            ("{\"contexts\": {\"a\": {\"url\": \"redis://a\", \"pasword\": \"hunter2\"}}}", "'pasword' is not a"),
            ("{\"contexts\": {\"a\": {}}}", "contexts.a has no 'url'"),
            ("{\"contexts\": {\"a\": {\"url\": 7}}}", "contexts.a.url has the wrong type"),
            ("{\"context\": \"b\", \"contexts\": {}}", "there is no context 'b' in "),
        ] {
            try await withFile(text) { file, environment in
                for command in [["keys", "things"], ["config"]] {
                    let run = try await CommandRun.of(command, environment: environment)
                    run.expectFailure(64, saying: file.path, words)
                    #expect(!run.errorText.contains("hunter2"))
                }
                // It is not read where it does not count.
                let run = try await CommandRun.of(["config", "--url", "redis://a.example"], environment: environment)
                #expect(run.status.isSuccess && run.errors.isEmpty, "\(run.errorText)")
            }
        }
        try await withFile("{\"context\": \"a\", \"contexts\": {\"a\": {\"url\": \"hunter2\"}}}") { _, environment in
            let run = try await CommandRun.of(["ping"], environment: environment)
            run.expectFailure(64, saying: "context a: ")
            #expect(!run.errorText.contains("hunter2"))
        }
        try await withFile(nil) { file, environment in
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
            try await CommandRun.of(["ping"], environment: environment)
                .expectFailure(64, saying: file.path, "not a regular file")
        }
    }

    @Test("a file that others may change is refused; one that they may read, if it holds a password")
    func permissions() async throws {
        let secret = Self.text.replacing("//ops@", with: "//ops:hunter2@")
        for (text, mode, words) in [
            (Self.text, 0o644, nil), (Self.text, 0o664, nil), (Self.text, 0o666, "others may change it"),
            (secret, 0o600, nil), (secret, 0o644, "others may read it, and the context 'staging' holds a password"),
            (secret, 0o640, "use chmod 600, or passwordFile"),
        ] as [(String, Int, String?)] {
            try await withFile(text, mode: mode) { file, environment in
                let run = try await CommandRun.of(["config"], environment: environment)
                if let words {
                    run.expectFailure(64, saying: file.path, words)
                } else {
                    #expect(run.status.isSuccess && run.errors.isEmpty, "\(run.errorText)")
                }
                #expect(!run.text.contains("hunter2") && !run.errorText.contains("hunter2"))
            }
        }
    }

    @Test("a name that there is not is told, with the one that may be meant; two servers at a time are refused")
    func unknown() async throws {
        try await withFile(Self.text) { file, environment in
            try await CommandRun.of(["ping", "--context", "stagin"], environment: environment)
                .expectFailure(64, saying: "there is no context 'stagin' in \(file.path)", "did you mean 'staging'?")
            try await CommandRun.of(["ping", "--context", "a\u{1b}[2J"], environment: environment)
                .expectFailure(64, saying: "there is no context 'a\\x1b[2J'", "config --contexts` lists them")
            let both = try await CommandRun.of(
                ["ping", "--context", "shop", "--url", "redis://a.example"],
                environment: environment
            )
            #expect(both.status == .exited(64) && both.errorText.contains("--url and --context exclude each other"))
        }
        try await withFile(nil) { _, environment in
            try await CommandRun.of(["ping", "--context", "shop"], environment: environment)
                .expectFailure(64, saying: "--context: there is no configuration file")
        }
    }
}
