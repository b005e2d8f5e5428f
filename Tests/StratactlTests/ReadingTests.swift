import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: looking", .timeLimit(.minutes(5)))
struct ReadingTests {
    private struct Product: Codable {
        var name: String
        var tags: [String]
    }

    @Test("ping tells versions and round trips")
    func ping() async throws {
        try await Cache.with { cache in
            let table = try await cache.run("ping", "--count", "3")
            #expect(table.status.isSuccess)
            let port = try #require(cache.server.port)
            #expect(table.text.contains("127.0.0.1:\(port)"))
            #expect(table.text.contains(HiredisVersion.current.description))
            #expect(table.text.contains("median of 3"))
            let version = try #require(try await cache.redis.info("server")["redis_version"])
            let json = try await cache.run("ping", "--count", "3", "--format", "json").json()
            #expect(json["endpoint"] == .string("127.0.0.1:\(port)"))
            #expect(json["hiredis"] == .string(HiredisVersion.current.description))
            #expect(json["roundTripMilliseconds"]?.elements.count == 3)
            if json["product"] == .string("redis") { #expect(json["version"] == .string(version)) }
        }
    }

    @Test("keyspaces lists those of the prefix, or all")
    func keyspaces() async throws {
        try await Cache.with { cache in
            for number in 0..<20 { try await cache.level(.bytes).set([1, 2], for: Array("\(number)".utf8)) }
            try await cache.redis.set("strata:things:l:{x}", [1])
            try await cache.redis.set("other:th%1Bngs:v:{x}", [1])
            try await cache.redis.set("session:1", [1])

            let table = try await cache.run("keyspaces")
            #expect(table.lines.count == 2)
            #expect(table.lines[1].split(separator: " ").prefix(5) == ["strata", "things", "20", "1", "20"])
            let all = try await cache.run("keyspaces", "--all-prefixes")
            #expect(all.lines.count == 3)
            #expect(all.lines[1].contains("th\\x1bngs"))
            all.expectHarmless()
            let other = try await cache.run("keyspaces", "--prefix", "other", "--format", "json").json()
            #expect(other.elements.count == 1)
            #expect(other.elements[0]["name"] == .string("th\u{1b}ngs"))
            let json = try await cache.run("keyspaces", "--format", "json", "--samples", "5").json()
            #expect(json.elements.count == 1)
            #expect(json.elements[0]["values"] == .number(20))
            #expect(json.elements[0]["leases"] == .number(1))
            #expect(json.elements[0]["sampledValues"] == .number(5))
            #expect(json.elements[0]["sampledBytes"] == .number(5 * 88))
            #expect(json.elements[0]["estimatedBytes"] == .number(20 * 88))
        }
    }

    @Test("keys lists by pattern and limit, as lines, JSON, or with NULs between")
    func keys() async throws {
        try await Cache.with { cache in
            for key in ["a:1", "a:2", "b"] { try await cache.level(.bytes).set([1], for: Array(key.utf8)) }
            let table = try await cache.run("keys", "things")
            #expect(table.lines.first == "KEY")
            #expect(Set(table.lines.dropFirst()) == ["a:1", "a:2", "b"])
            #expect(table.errors.isEmpty)
            let matched = try await cache.run("keys", "things", "--match", "a:*")
            #expect(Set(matched.lines.dropFirst()) == ["a:1", "a:2"])
            let limited = try await cache.run("keys", "things", "--limit", "2")
            #expect(limited.lines.count == 3)
            #expect(limited.errorText.contains("there are more keys"))
            let exact = try await cache.run("keys", "things", "--limit", "3")
            #expect(exact.lines.count == 4)
            let nul = try await cache.run("keys", "things", "--print0", "--match", "b")
            #expect(nul.output == Array("b\0".utf8))
            let names = try await cache.run("keys", "things", "--names", "--match", "b")
            #expect(names.lines == ["NAME", "strata:things:v:{b}"])
            let json = try await cache.run("keys", "things", "--format", "json", "--limit", "2").json()
            #expect(json["keyspace"] == .string("strata:things"))
            #expect(json["keys"]?.elements.count == 2)
            #expect(json["more"] == .bool(true))
            let empty = try await cache.run("keys", "nothing", "--format", "json").json()
            #expect(empty["keys"] == .array([]))
            #expect(empty["more"] == .bool(false))
            #expect(try await cache.run("keys", "nothing").lines == ["KEY"])
        }
    }

    @Test("get shows the envelope, and the value on request only")
    func get() async throws {
        try await Cache.with { cache in
            var entry = Entry(value: Product(name: "Häkelnadel", tags: ["craft", "a\"b"]))
            entry.tags = ["shop", "sale 50%"]
            entry.fetchDuration = .milliseconds(12)
            try await cache.level(.json).store(entry, for: Array("42".utf8))

            let table = try await cache.run("get", "things", "42")
            #expect(table.status.isSuccess)
            let fields = Dictionary(
                table.lines.map { ($0.prefix { $0 != " " }.description, $0) },
                uniquingKeysWith: { first, _ in first }
            )
            for (name, value) in [
                ("name", "strata:things:v:{42}"), ("state", "fresh"), ("format", "1"), ("kind", "value"),
                ("codec", "3 (JSON)"), ("schema", "0"), ("checksum", "matches"), ("tags", "shop sale 50%"),
                ("fetch", "12 ms"), ("stored", "Z ("),
            ] { #expect(fields[name]?.contains(value) == true, "\(name): \(table.text)") }
            #expect(!table.text.contains("Häkelnadel"))

            let value = try await cache.run("get", "things", "42", "--value")
            #expect(
                value.text.hasSuffix(
                    """
                    value
                      {
                        "name": "Häkelnadel",
                        "tags": [
                          "craft",
                          "a\\"b"
                        ]
                      }

                    """
                )
            )
            let cut = try await cache.run("get", "things", "42", "--value", "--max-bytes", "10")
            #expect(cut.text.contains("(10 of "))
            #expect(!cut.text.contains("craft"))

            let json = try await cache.run("get", "things", "42", "--format", "json").json()
            #expect(json["state"] == .string("fresh"))
            #expect(json["key"]?["userKey"] == .string("42"))
            #expect(json["value"] == nil)
            #expect(json["envelope"]?["checksum"] == .string("matches"))
            #expect(json["envelope"]?["tags"] == .array([.string("shop"), .string("sale 50%")]))
            #expect(json["envelope"]?["version"]?.string?.count == 32)
            #expect(json["timeToLive"]?["state"] == .string("remaining"))
            let shown = try await cache.run("get", "things", "42", "--format", "json", "--value").json()
            #expect(shown["value"]?["bytes"] == .string(#"{"name":"Häkelnadel","tags":["craft","a\"b"]}"#))
        }
    }

    @Test("get shows text with its lines and bytes as a dump, and absences and failures by their kind")
    func otherValues() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("one\n\u{1b}[31mtwo", for: Array("text".utf8))
            let text = try await cache.run("get", "things", "text", "--value")
            #expect(text.text.hasSuffix("value\n  one\n  \\x1b[31mtwo\n"))
            text.expectHarmless()
            #expect(
                try await cache.run("get", "things", "text", "--value", "--format", "json").json()["value"]?["bytes"]
                    == .string("one\n\u{1b}[31mtwo")
            )

            try await cache.level(.bytes).set([0, 0x41, 0x1b, 0xff], for: Array("bytes".utf8))
            let bytes = try await cache.run("get", "things", "bytes", "--value")
            #expect(bytes.text.contains("00000000  00 41 1b ff"))
            #expect(bytes.text.contains("|.A..|"))
            #expect(
                try await cache.run("get", "things", "bytes", "--value", "--format", "json").json()["value"]?["bytes"]?[
                    "hex"
                ]
                    == .string("00411bff")
            )

            try await cache.level(.text).store(Entry<String>(.absent), for: Array("gone".utf8))
            let absence = try await cache.run("get", "things", "gone")
            #expect(absence.lines.contains { $0.hasPrefix("kind") && $0.hasSuffix("absence") })
        }
    }

    @Test("ttl and leases show what is left")
    func lifetimes() async throws {
        try await Cache.with { cache in
            try await cache.level(.bytes).set([1], for: Array("a".utf8))
            let lease = [UInt8(ascii: "T")] + Array(0..<16) + Array("web-1/42\u{1b}[2J".utf8)
            try await cache.redis.set("strata:things:l:{a}", lease, expiringIn: .seconds(500))
            try await cache.redis.set("strata:things:l:{b}", lease)

            let both = try await cache.run("ttl", "things", "a")
            #expect(both.lines.count == 3)
            #expect(both.lines[1].hasPrefix("value  1") && both.lines[1].contains("min"))
            #expect(both.lines[2].hasPrefix("lease  8 min"))
            let json = try await cache.run("ttl", "things", "b", "--format", "json").json()
            #expect(json["value"]?["state"] == .string("absent"))
            #expect(json["lease"]?["state"] == .string("unlimited"))

            let table = try await cache.run("leases", "things")
            #expect(table.lines.count == 3)
            #expect(table.lines.dropFirst().allSatisfy { $0.contains("000102030405060708090a0b0c0d0e0f") })
            #expect(table.lines.dropFirst().allSatisfy { $0.contains("web-1/42") && !$0.contains("\u{1b}") })
            #expect(table.lines.contains { $0.contains("no expiry") && $0.hasSuffix(" b") })
            try await cache.redis.set("strata:things:l:{c}", Array("F3:TimedOut".utf8))
            let failed = try await cache.run("leases", "things")
            #expect(failed.lines.contains { $0.contains("failed 3 times in a row with TimedOut") })
            try await cache.redis.delete("strata:things:l:{c}")
            let leases = try await cache.run("leases", "things", "--format", "json").json()
            #expect(leases["leases"]?.elements.count == 2)
            let milliseconds = leases["leases"]?.elements.compactMap { $0["timeLeft"]?["milliseconds"]?.number } ?? []
            #expect(milliseconds.count == 1 && (400_000...500_000).contains(milliseconds.first ?? 0))
            let one = try await cache.run("leases", "things", "--limit", "1")
            #expect(one.lines.count == 2)
            #expect(one.errorText.contains("there are more leases"))
        }
    }

    @Test("what is not there has an exit status of its own")
    func absent() async throws {
        try await Cache.with { cache in
            for command in ["get", "ttl"] {
                for format in ["table", "json"] {
                    try await cache.run(command, "things", "nothing", "--format", format)
                        .expectFailure(3, saying: "there is no keyspace")
                }
            }
        }
    }
}
