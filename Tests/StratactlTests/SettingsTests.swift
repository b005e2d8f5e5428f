import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: settings, formats and pipes", .timeLimit(.minutes(5)))
struct SettingsTests {
    private func settings(
        _ arguments: [String],
        _ environment: [String: String?] = [:]
    ) async throws -> [String: (value: String, from: String)] {
        let run = try await CommandRun.of(["config", "--format", "json"] + arguments, environment: environment)
        #expect(run.status.isSuccess, "\(run.errorText)")
        #expect(!run.text.contains("hunter2") && !run.errorText.contains("hunter2"))
        var found: [String: (value: String, from: String)] = [:]
        for setting in try run.json().elements {
            let name = try #require(setting["name"]?.string)
            found[name] = (setting["value"]?.string ?? "", setting["from"]?.string ?? "")
        }
        return found
    }

    @Test("config tells what applies and where from, and never a password")
    func config() async throws {
        let none = try await settings([])
        #expect(none["server"]?.value == "127.0.0.1:6379" && none["server"]?.from == "default")
        #expect(none["password"]?.value == "none" && none["password"]?.from == "default")
        #expect(none["prefix"]?.value == "strata" && none["prefix"]?.from == "default")
        let variable = ["STRATA_REDIS_URL": "redis://someone:hunter2@example.org:6380/3"]
        let url = try await settings([], variable)
        #expect(url["server"]?.value == "example.org:6380" && url["server"]?.from == "STRATA_REDIS_URL")
        #expect(url["user"]?.value == "someone" && url["database"]?.value == "3")
        #expect(url["password"]?.value == "set" && url["password"]?.from == "STRATA_REDIS_URL")
        let both = try await settings(
            ["--url", "unix:///run/redis.sock", "--prefix", "shop"],
            variable.merging(["STRATA_REDIS_PASSWORD": "hunter2"]) { $1 }
        )
        #expect(both["server"]?.value == "/run/redis.sock" && both["server"]?.from == "--url")
        #expect(both["password"]?.from == "STRATA_REDIS_PASSWORD")
        #expect(both["prefix"]?.value == "shop" && both["prefix"]?.from == "--prefix")
        let sentinels = try await settings(["--url", "redis-sentinel://a.example,b.example:26380/?master=main"])
        #expect(sentinels["server"]?.value == "main@a.example:26379,b.example:26380")
        #expect(sentinels["topology"]?.value == "sentinel")
        let table = try await CommandRun.of(["config"])
        #expect(table.lines[0].split(separator: " ") == ["SETTING", "VALUE", "FROM"])
        #expect(table.lines.contains { $0.split(separator: " ") == ["server", "127.0.0.1:6379", "default"] })
        let plain = try await CommandRun.of(["config", "--format", "plain"])
        #expect(plain.lines.contains("server\t127.0.0.1:6379\tdefault"))
        let hostile = try await CommandRun.of(["config", "--prefix", "a\u{1b}[2J"])
        hostile.expectHarmless()
        try await CommandRun.of(["config", "--url", "nonsense"]).expectFailure(64, saying: "--url: ")
    }

    @Test("the plain format has no heading, and a tab between cells")
    func plain() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("value", for: Array("a\tb".utf8), tags: ["red"])
            try await cache.redis.set("strata:things:l:{c}", Array("T0123456789abcdefweb-2/811".utf8))
            let keys = try await cache.run("keys", "things", "--format", "plain")
            #expect(keys.lines == ["a\\x09b"])
            let keyspaces = try await cache.run("keyspaces", "--format", "plain")
            #expect(keyspaces.lines.count == 1 && keyspaces.lines[0].hasPrefix("strata\tthings\t1\t1\t1\t"))
            let leases = try await cache.run("leases", "things", "--format", "plain")
            #expect(leases.lines == ["no expiry\tweb-2/811\t30313233343536373839616263646566\tc"])
            let lifetimes = try await cache.run("ttl", "things", "c", "--format", "plain")
            #expect(lifetimes.lines == ["key\tc", "value\tabsent", "lease\tno expiry"])
            let entry = try await cache.run("get", "things", "a\tb", "--format", "plain")
            #expect(entry.lines.contains("state\tfresh") && entry.lines.contains("tags\tred"))
            let ping = try await cache.run("ping", "--count", "2", "--format", "plain")
            #expect(ping.lines.count == 8 && ping.lines.suffix(2).allSatisfy { $0.hasPrefix("round trip\t") })
            let plan = try await cache.run("clear", "things", "--format", "plain")
            #expect(plan.lines == ["strata:things\t1\t1"] && plan.status == .exited(2))
            let removal = try await cache.run("remove", "things", "a\tb", "--yes", "--format", "plain")
            #expect(removal.lines == ["yes\tno\ta\\x09b", "removed\t1"])
        }
    }

    @Test("a reader that leaves early ends the program quietly", arguments: ["table", "json", "plain"])
    func head(format: String) async throws {
        try await Cache.with { cache in
            // More than a pipe holds.
            for number in 0..<2500 {
                try await cache.redis.set(
                    RedisKey("strata:things:v:{a-rather-long-key-that-fills-the-pipe-\(number)}"),
                    [1]
                )
            }
            let run = try await CommandRun.of(
                "\"$0\" keys things --limit 0 --format \(format) | head -n 1",
                environment: ["STRATA_REDIS_URL": cache.server.url]
            )
            #expect(run.lines.count == 1)
            #expect(run.errors.isEmpty, "\(run.errorText)")
        }
    }

    @Test("a command that is misspelt is named, with those that may be meant")
    func misspelt() async throws {
        for (word, meant) in [("doctr", "doctor"), ("whyy", "why"), ("sizs", "sizes"), ("invalidat", "invalidate")] {
            let run = try await CommandRun.of([word])
            #expect(run.status == .exited(64))
            run.expectHarmless()
            #expect(
                run.errorText.contains("there is no command '\(word)'; did you mean '\(meant)'?"),
                "\(run.errorText)"
            )
        }
        let hostile = try await CommandRun.of(["\u{1b}[2J"])
        hostile.expectFailure(64, saying: "there is no command '\\x1b[2J'; `stratactl --help` lists them")
    }
}
