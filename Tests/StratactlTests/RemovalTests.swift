import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: removing", .timeLimit(.minutes(5)))
struct RemovalTests {
    @Test("remove without --yes shows what it would touch, and touches nothing", arguments: ["table", "json"])
    func removeRefused(format: String) async throws {
        try await Cache.with { cache in
            for key in ["a", "b"] { try await cache.level(.text).set("v", for: Array(key.utf8)) }
            try await cache.redis.set("strata:things:l:{a}", [1])
            let run = try await cache.run("remove", "things", "a", "b", "c", "a", "--format", format)
            #expect(run.status == .exited(2))
            #expect(run.errorLines.count == 1)
            #expect(
                run.errorText.contains("nothing was removed; --yes removes 2 values and 1 lease of strata:things at")
            )
            #expect(try await cache.size() == 3)
            if format == "json" {
                let json = try run.json()
                #expect(json["done"] == .bool(false))
                #expect(json["values"] == .number(2) && json["leases"] == .number(1))
                #expect(json["keys"]?.elements.map { $0["value"]?.bool } == [true, true, false])
                #expect(json["removed"] == nil)
            } else {
                #expect(run.lines == ["VALUE  LEASE  KEY", "yes    yes    a", "yes    no     b", "no     no     c"])
            }
        }
    }

    @Test("remove with --yes takes values and leases of the keys alone", arguments: ["table", "json"])
    func remove(format: String) async throws {
        try await Cache.with { cache in
            for key in ["a", "b", "c"] { try await cache.level(.text).set("v", for: Array(key.utf8)) }
            try await cache.redis.set("strata:things:l:{a}", [1])
            let run = try await cache.run("remove", "things", "a", "b", "nothing", "--yes", "--format", format)
            #expect(run.status.isSuccess)
            #expect(run.errors.isEmpty)
            #expect(try await cache.size() == 1)
            #expect(try await cache.level(.text).get(Array("c".utf8)) == "v")
            if format == "json" {
                let json = try run.json()
                #expect(json["done"] == .bool(true))
                #expect(json["removed"] == .number(3))
            } else {
                #expect(run.lines.last?.hasPrefix("removed 3 values and leases of strata:things at 127.0.0.1:") == true)
            }
        }
    }

    @Test("remove voids a fetch that runs: what it finds is not stored")
    func removeVoidsFetch() async throws {
        try await Cache.with { cache async throws in
            let (begun, began) = AsyncStream<Void>.makeStream()
            let (released, release) = AsyncStream<Void>.makeStream()
            let level = cache.level(.text)
            let fetching = level.fetching(LeaseOptions(duration: .seconds(50))) { _ in
                began.finish()
                for await _ in released {}
                return "old"
            }
            async let value = fetching.get(Array("a".utf8))
            for await _ in begun {}
            #expect(try await cache.run("leases", "things").lines.count == 2)
            #expect(try await cache.run("remove", "things", "a", "--yes").status.isSuccess)
            release.finish()
            #expect(try await value == "old")
            #expect(level.statistics.refusedStores == 1)
            #expect(try await cache.size() == 0)
        }
    }

    @Test("names in Redis are taken as they are, and only those of the keyspace")
    func rawKeys() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("v", for: Array("a\0b".utf8))
            let shown = try await cache.run("get", "things", "--raw-key", "strata:things:v:{a%00b}")
            #expect(shown.status.isSuccess)
            #expect(shown.text.contains("a\\x00b"))
            #expect(try await cache.run("ttl", "things", "--raw-key", "strata:things:l:{a%00b}").status.isSuccess)
            try await cache.redis.set("session:1", [1])
            try await cache.run("remove", "things", "--raw-key", "session:1", "--yes")
                .expectFailure(64, saying: "does not begin with strata:things:v:")
            #expect(try await cache.size() == 2)
            let removal = try await cache.run("remove", "things", "--raw-key", "strata:things:v:{a%00b}", "--yes")
            #expect(removal.status.isSuccess)
            #expect(try await cache.size() == 1)
        }
    }

    @Test("clear without --yes shows counts, and touches nothing", arguments: ["table", "json"])
    func clearRefused(format: String) async throws {
        try await Cache.with { cache in
            try await fill(cache)
            let before = try await cache.size()
            let run = try await cache.run("clear", "things", "--format", format)
            #expect(run.status == .exited(2))
            #expect(run.errorLines.count == 1)
            #expect(run.errorText.contains("--yes removes 700 values and 1 lease of strata:things at"))
            #expect(try await cache.size() == before)
            if format == "json" {
                #expect(try run.json()["values"] == .number(700))
            } else {
                #expect(run.lines[1].split(separator: " ") == ["strata:things", "700", "1"])
            }
        }
    }

    @Test("clear with --yes takes the keyspace, and no other key of the database", arguments: ["table", "json"])
    func clear(format: String) async throws {
        try await Cache.with { cache in
            let others = try await fill(cache)
            let run = try await cache.run("clear", "things", "--yes", "--format", format)
            #expect(run.status.isSuccess)
            #expect(run.errorLines.last == "stratactl: removed 700 values, 1 lease")
            #expect(try await cache.size() == others.count)
            for name in others { #expect(try await cache.redis.exists(RedisKey(name)) == 1, "\(name)") }
            if format == "json" {
                #expect(try run.json()["removed"] == .number(701))
            } else {
                #expect(run.lines.last?.hasPrefix("removed 701 values and leases of strata:things at ") == true)
            }
            let again = try await cache.run("clear", "things", "--yes")
            #expect(again.status.isSuccess)
        }
    }

    @discardableResult
    private func fill(_ cache: Cache) async throws -> [String] {
        let others = [
            "strata:thingsx:v:{a}", "strata:thing:v:{a}", "strata:*:v:{a}", "strata:things", "strata:things:x:{a}",
            "stratax:things:v:{a}", "session:1", "things:v:{a}", "strata:Things:v:{a}", "other:things:v:{a}",
        ]
        for name in others { try await cache.redis.set(RedisKey(name), [1]) }
        for number in 0..<700 { try await cache.redis.set(RedisKey("strata:things:v:{\(number)}"), [1]) }
        try await cache.redis.set("strata:things:l:{a}", [1])
        return others
    }

    @Test("the prefix counts: a keyspace of the same name under another prefix stays")
    func prefix() async throws {
        try await Cache.with { cache in
            try await cache.redis.set("strata:things:v:{a}", [1])
            try await cache.redis.set("other:things:v:{a}", [1])
            #expect(try await cache.run("clear", "things", "--prefix", "other", "--yes").status.isSuccess)
            #expect(try await cache.redis.exists("strata:things:v:{a}") == 1)
            #expect(try await cache.size() == 1)
        }
    }

    @Test("a server that refuses writes is an error, not a success")
    func readOnly() async throws {
        try await Cache.with(.init(directives: ["user default on nopass ~* &* +@all -unlink -eval -evalsha"])) {
            cache in
            try await cache.redis.set("strata:things:v:{a}", [1])
            for command in [["clear", "things"], ["remove", "things", "a"]] {
                let run = try await CommandRun.of(
                    command + ["--yes", "--format", "json"],
                    environment: ["STRATA_REDIS_URL": cache.server.url]
                )
                run.expectFailure(1, saying: "NOPERM", "127.0.0.1:")
            }
            #expect(try await cache.size() == 1)
        }
    }
}
