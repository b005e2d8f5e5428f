import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: hostile keys", .timeLimit(.minutes(5)))
struct HostileKeyTests {
    private static let keys: [[UInt8]] = [
        Array("\u{1b}[31mred\u{1b}[0m".utf8), Array("\u{1b}]0;title\u{7}".utf8), Array("line\r\nbreak".utf8), [0],
        [0x61, 0, 0x62],
        [0xff, 0xfe], [0xc3], Array("\u{9b}2J".utf8), Array("\u{202e}gnp.exe".utf8), Array("\u{200b}\u{feff}".utf8),
        Array("\u{2028}".utf8), Array("back\\slash \\x1b \\u{1b}".utf8), Array("{}%:*?[]".utf8), Array("--yes".utf8),
        Array("日本語 🙂 e\u{301}".utf8), Array(repeating: UInt8(ascii: "k"), count: 5000), [], [0x7f], Array("\\#".utf8),
        Array("\\=strata:things:v:{a}".utf8), Array("\u{e000}".utf8), Array(" ".utf8),
    ]

    @Test("are harmless in every command and format, and what is printed can be given back")
    func everywhere() async throws {
        try await Cache.with { cache in
            for key in Self.keys {
                try await cache.level(.text).set("v", for: key)
                try await cache.redis.set(InspectedKey(key, in: cache.keyspace).leaseName, [1, 2, 3])
            }
            // Names that no keyspace makes, but any client can write.
            try await cache.redis.set("strata:things:v:{\u{1b}[2J}", [1])
            try await cache.redis.set("strata:things:v:\u{9b}31m", [1])
            try await cache.redis.set("strata:th\u{1b}ings:v:{a}", [1])
            let count = Self.keys.count + 2

            for (arguments, expected) in [
                (["keys"], count), (["keys", "--names"], count), (["leases"], Self.keys.count),
            ] {
                let environment = ["STRATA_REDIS_URL": cache.server.url]
                let table = try await CommandRun.of(arguments + ["things"], environment: environment)
                #expect(table.lines.count == expected + 1)
                table.expectHarmless()
                let json =
                    try await CommandRun.of(
                        arguments + ["things", "--format", "json"],
                        environment: environment
                    )
                    .json()
                #expect(json[arguments[0]]?.elements.count == expected)
            }
            try await cache.run("keyspaces", "--all-prefixes").expectHarmless()
            _ = try await cache.run("keyspaces", "--all-prefixes", "--format", "json").json()

            let listing = try await cache.run("keys", "things", "--limit", "0")
            let shown = listing.lines.dropFirst()
            for key in shown {
                let table = try await cache.run("get", "things", "--escaped", "--", key)
                #expect(table.status.isSuccess, "\(key): \(table.errorText)")
                table.expectHarmless()
                // The empty key and the long one are found by their hash, and shown by it.
                let line = table.lines.first ?? ""
                #expect(line.hasPrefix("key  ") && line.hasSuffix("  " + key))
                _ = try await cache.run("get", "things", "--escaped", "--value", "--format", "json", "--", key).json()
            }
            let lifetimes = try await cache.run("ttl", "things", "--escaped", "--", try #require(shown.first))
            #expect(lifetimes.status.isSuccess)
            lifetimes.expectHarmless()
            let plan = try await CommandRun.of(
                ["remove", "things", "--escaped", "--"] + shown,
                environment: ["STRATA_REDIS_URL": cache.server.url]
            )
            #expect(plan.status == .exited(2))
            #expect(plan.lines.count == count + 1)
            plan.expectHarmless()
            let removed = try await CommandRun.of(
                ["remove", "things", "--yes", "--escaped", "--"] + shown,
                environment: ["STRATA_REDIS_URL": cache.server.url]
            )
            #expect(removed.status.isSuccess)
            removed.expectHarmless()
            #expect(removed.lines.last?.hasPrefix("removed \(2 * Self.keys.count + 2) ") == true)
            #expect(try await cache.size() == 1)
        }
    }

    @Test("JSON holds the bytes themselves")
    func json() async throws {
        try await Cache.with { cache in
            for key in Self.keys { try await cache.level(.text).set("v", for: key) }
            let json = try await cache.run("keys", "things", "--format", "json").json()
            let texts = Set(json["keys"]?.elements.compactMap { $0["userKey"]?.string } ?? [])
            let hexadecimal = Set(json["keys"]?.elements.compactMap { $0["userKey"]?["hex"]?.string } ?? [])
            let expected = Self.keys.filter { !$0.isEmpty && $0.count < 500 }
            #expect(texts == Set(expected.compactMap { String(validating: $0, as: UTF8.self) }))
            #expect(hexadecimal == ["fffe", "c3"])
            #expect(json["keys"]?.elements.count { $0["form"] == .string("hashed") } == 2)
        }
    }

    @Test("a key of composed and decomposed characters is one key as text, as in the library")
    func normalForm() async throws {
        try await Cache.with { cache in
            let level = RedisLevel<String, String>(cache.redis, keyspace: cache.keyspace, codec: .text)
            try await level.set("v", for: "caf\u{e9}")
            #expect(try await cache.run("get", "things", "cafe\u{301}").status.isSuccess)
            #expect(try await cache.run("get", "things", "--escaped", "cafe\u{301}").status == .exited(3))
        }
    }

    @Test("NULs end keys for other programs; keys that would not survive it are left out and counted")
    func print0() async throws {
        try await Cache.with { cache in
            let keys: [[UInt8]] = [
                [0x61, 0], Array("\u{1b}[31m".utf8), Array("a b\n".utf8), Array(repeating: 0x6b, count: 5000),
                // An argument is read in form C, and would be another key.
                Array("e\u{301}".utf8),
                // An argument that is no UTF-8 is refused.
                [0x62, 0xff],
            ]
            for key in keys {
                try await cache.level(.text).set("v", for: key)
            }
            let run = try await cache.run("keys", "things", "--print0")
            #expect(
                Set(run.output.split(separator: 0).map { Array($0) }) == [
                    Array("\u{1b}[31m".utf8), Array("a b\n".utf8),
                ]
            )
            #expect(run.errorText.contains("4 keys left out"))

            let names = try await cache.run("keys", "things", "--print0", "--names")
            #expect(names.output.split(separator: 0).count == 5)
            #expect(names.errorText.contains("1 key left out"))
            let script = "\"$0\" keys things --print0 --names | xargs -0 \"$0\" remove things --raw-key --yes --"
            let removal = try await CommandRun.of(script, environment: ["STRATA_REDIS_URL": cache.server.url])
            #expect(removal.status.isSuccess)
            removal.expectHarmless()
            #expect(try await cache.size() == 1)
        }
    }

    @Test("as arguments that are wrong, they are quoted harmlessly or not at all")
    func asArguments() async throws {
        try await Cache.with { cache in
            for key in ["\u{1b}[31mred", "-\u{1b}[31m", "--\u{9b}31m", "a\u{202e}b"] {
                let surplus = try await cache.run("get", "things", "a", key)
                #expect(surplus.status == .exited(64))
                surplus.expectHarmless()
            }
            let run = try await CommandRun.of("\"$0\" get things \"$(printf '\\377')\"")
            run.expectFailure(64, saying: "argument 3 is not UTF-8")
        }
    }
}
