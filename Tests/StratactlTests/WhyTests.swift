import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: why a read gets what it gets", .timeLimit(.minutes(5)))
struct WhyTests {
    private struct Down: Error {}

    private func key(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// One that hears nothing, and so repairs nothing by itself.
    private func level(
        _ cache: Cache,
        _ freshness: FreshnessPolicy = FreshnessPolicy(freshFor: .seconds(1000))
    ) -> RedisLevel<[UInt8], String> {
        RedisLevel(cache.redis, keyspace: cache.keyspace, codec: .text, freshness: freshness, coherence: .none)
    }

    /// The page of a key, by the names of its lines; what follows without a name is joined to the line above.
    private func page(_ cache: Cache, _ key: String) async throws -> (fields: [String: String], json: JSONNode) {
        let run = try await cache.run("why", "things", key, "--format", "plain")
        #expect(run.status.isSuccess, "\(run.errorText)")
        var fields: [String: String] = [:]
        for line in run.lines {
            let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            #expect(cells.count == 2, "\(line)")
            fields[cells[0], default: ""] += (fields[cells[0]] == nil ? "" : "; ") + (cells.last ?? "")
        }
        let table = try await cache.run("why", "things", key)
        #expect(table.status.isSuccess && table.errors.isEmpty)
        table.expectHarmless()
        #expect(table.lines.count == run.lines.count)
        return (fields, try await cache.run("why", "things", key, "--format", "json").json())
    }

    @Test("a fresh value: what it is, until when, and its tags with their last invalidation")
    func fresh() async throws {
        try await Cache.with { cache in
            let level = level(cache)
            try await level.invalidate(tag: "red")
            try await level.set("value", for: key("a"), tags: ["red", "blue 50%"])
            let (fields, json) = try await page(cache, "a")
            #expect(fields["a read"]?.contains("gets the stored value") == true)
            #expect(fields["in Redis"]?.hasPrefix("106 bytes, for another ") == true, "\(fields)")
            #expect(fields["state"] == "fresh")
            #expect(fields["fresh until"]?.contains("(in ") == true)
            #expect(fields["form"] == "format 1, value, text, schema 0")
            #expect(fields["lease"] == "none" && fields["failure"] == "none")
            #expect(fields["tags"]?.contains("blue 50%: not invalidated") == true)
            #expect(fields["tags"]?.contains(", before the fetch") == true)
            #expect(fields["what to do"]?.contains("stratactl remove") == true)
            #expect(json["read"] == .string("served") && json["inRedis"] == .bool(true))
            #expect(json["entry"]?["state"] == .string("fresh"))
            #expect(json["tags"]?.elements.count == 2)
            #expect(json["tags"]?.elements[0]["voids"] == .bool(false))
            let ago = try #require(json["tags"]?.elements[0]["invalidated"]?["relativeSeconds"]?.number)
            #expect((-600...1).contains(ago))
            #expect(json["tags"]?.elements[1]["invalidated"] == nil)
            #expect(json["lease"] == nil && json["failure"] == nil)
            #expect(json["cleared"]?["time"]?.string?.hasSuffix("Z") == true)
        }
    }

    @Test("what is void is void by which tag, or by a clear; and a read fetches")
    func void() async throws {
        try await Cache.with { cache in
            let level = level(cache)
            try await level.set("value", for: key("a"), tags: ["red", "blue"])
            try await level.invalidate(tag: "blue")
            let (byTag, json) = try await page(cache, "a")
            #expect(byTag["state"] == "void: invalidated since it was fetched, by tag blue")
            #expect(byTag["a read"] == "fetches from the source: what is stored is void")
            #expect(byTag["tags"]?.contains(", after the fetch") == true)
            #expect(json["read"] == .string("fetched"))
            #expect(json["tags"]?.elements.map { $0["voids"] } == [.bool(false), .bool(true)])
            try await level.clear()
            let byClear = try await page(cache, "a").fields
            #expect(byClear["state"] == "void: the keyspace was cleared since it was fetched")
            // Its numbers are gone: the next read by an instance would void everything.
            try await cache.redis.set("strata:things:t:marks", [1])
            let lost = try await page(cache, "a")
            #expect(lost.fields["state"] == "void: the keyspace has lost count of its invalidations")
            #expect(lost.fields["cleared"]?.hasPrefix("not known") == true)
            #expect(lost.fields["what to do"]?.contains("stratactl doctor") == true)
            #expect(lost.json["cleared"] == nil)
            #expect(try await cache.redis.get("strata:things:t:marks") == [1])
        }
    }

    @Test("a stale value is served where the policy allows it, and fetched")
    func stale() async throws {
        try await Cache.with { cache in
            let policy = FreshnessPolicy(freshFor: .milliseconds(1), staleIfError: .seconds(1000), jitter: 0)
            try await level(cache, policy).set("value", for: key("a"))
            var (fields, json) = try await page(cache, "a")
            // It ends by the server's clock as the level knows it, which may lie off by half a round trip.
            while fields["state"] == "fresh" { (fields, json) = try await page(cache, "a") }
            #expect(fields["state"] == "stale")
            #expect(fields["a read"]?.hasPrefix("gets the stored value if its policy allows stale ones") == true)
            #expect(json["read"] == .string("stale"))
        }
    }

    @Test("a key that is being fetched: by whom, and for how long that is believed")
    func held() async throws {
        try await Cache.with { cache in
            let (begun, began) = AsyncStream<Void>.makeStream()
            let (released, release) = AsyncStream<Void>.makeStream()
            let fetching = level(cache)
                .fetching(LeaseOptions(duration: .seconds(50))) { _ in
                    began.finish()
                    for await _ in released {}
                    return "value"
                }
            async let value = fetching.get(key("a"))
            for await _ in begun {}
            let (fields, json) = try await page(cache, "a")
            let holder = cache.redis.configuration.instanceName
            #expect(fields["a read"] == "waits for \(holder), who fetches: nothing is stored")
            #expect(fields["in Redis"] == "no")
            #expect(fields["lease"]?.hasPrefix("held by \(holder), for another ") == true)
            #expect(json["read"] == .string("waits") && json["inRedis"] == .bool(false))
            #expect(json["lease"]?["holder"] == .string(holder))
            #expect(json["lease"]?["isBelieved"] == .bool(true))
            release.finish()
            #expect(try await value == "value")
            // One that no instance would have written.
            try await cache.redis.set("strata:things:l:{b}", Array("T0123456789abcdefweb-2/811".utf8))
            let foreign = try await page(cache, "b")
            #expect(foreign.fields["lease"]?.hasPrefix("ignored") == true)
            #expect(foreign.json["read"] == .string("fetched"))
        }
    }

    @Test("a fetch for a read that is traced: in which trace; of what only looks like one nothing is told")
    func traced() async throws {
        try await Cache.with { cache in
            let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
            let records = [
                ("a", "web-2/811 00-\(trace)-00f067aa0ba902b7-01", "held by web-2/811, trace \(trace), for another "),
                ("b", "web-2/811 00-\(trace)", "held by web-2/811 00-\(trace), for another "),
            ]
            for (name, text, expected) in records {
                let lease = RedisKey("strata:things:l:{\(name)}")
                try await cache.redis.set(lease, Array("T0123456789abcdef\(text)".utf8), expiringIn: .seconds(50))
                let (fields, json) = try await page(cache, name)
                #expect(fields["lease"]?.hasPrefix(expected) == true, "\(fields)")
                #expect(json["lease"]?["trace"] == (name == "a" ? .string(trace) : nil))
                #expect(json["lease"]?["isBelieved"] == .bool(true))
            }
            let leases = try await cache.run("leases", "things", "--format", "json").json()
            #expect(leases["leases"]?.elements.compactMap { $0["trace"] } == [.string(trace)])
        }
    }

    @Test("a fetch that has failed: with what, how often, and for how long it is not tried again")
    func failed() async throws {
        try await Cache.with { cache in
            let back = LeaseOptions(failureBackOff: .seconds(300) ... .seconds(300))
            let fetching = level(cache).fetching(back) { _ in throw Down() }
            await #expect(throws: (any Error).self) { try await fetching.get(key("a")) }
            let (fields, json) = try await page(cache, "a")
            #expect(fields["a read"]?.hasPrefix("gets the failure of the last fetch") == true, "\(fields)")
            let failure = try #require(fields["failure"])
            #expect(failure.hasPrefix("failed once with ") && failure.contains("Down"), "\(failure)")
            #expect(failure.contains("; not tried again for "), "\(failure)")
            #expect(fields["lease"] == "none")
            #expect(fields["what to do"]?.contains("Look at the source") == true)
            #expect(json["read"] == .string("failed"))
            #expect(json["failure"]?["attempts"] == .number(1))
            let seconds = try #require(json["failure"]?["backOffSeconds"]?.number)
            #expect((1...300).contains(seconds))
            // It is remembered for a minute longer, and says no more then.
            try await cache.redis.expire("strata:things:l:{a}", in: .seconds(30))
            let over = try await page(cache, "a")
            #expect(over.fields["failure"]?.hasSuffix("; the back-off is over") == true)
            #expect(over.json["read"] == .string("fetched"))
            #expect(over.json["failure"]?["backOffSeconds"] == .number(0))
        }
    }

    @Test("what no level can use is said to be that, and what a read does then")
    func unusable() async throws {
        try await Cache.with { cache in
            var bytes = try cache.envelope(of: "a").encoded()
            bytes[bytes.count - 1] ^= 1
            try await cache.store(bytes, under: "a")
            let (fields, json) = try await page(cache, "a")
            #expect(fields["state"]?.hasPrefix("unusable: damaged") == true)
            #expect(json["read"] == .string("fetched") && json["entry"]?["fault"] == .string("damaged"))
            _ = try await cache.redis.send("LPUSH", "strata:things:v:{b}", "x")
            let list = try await page(cache, "b")
            #expect(list.fields["in Redis"] == "a value of the Redis type list, not an envelope")
            #expect(list.json["entry"]?["type"] == .string("list"))
        }
    }

    @Test("a key that is not there is an answer; a keyspace, a server or a permission that is missing is not")
    func missing() async throws {
        try await Cache.with(.init(directives: ["user blind on nopass ~* &* +@all -get -getrange"])) { cache in
            try await level(cache).set("value", for: key("a"))
            let (fields, json) = try await page(cache, "nothing")
            #expect(fields["a read"] == "fetches from the source: nothing is stored")
            #expect(json["read"] == .string("fetched") && json["entry"] == nil)
            for format in ["table", "plain", "json"] {
                try await cache.run("why", "thigns", "a", "--format", format)
                    .expectFailure(3, saying: "there is no keyspace", "did you mean 'things'?")
                let blind = cache.server.url.replacing("://", with: "://blind@")
                try await CommandRun.of(
                    ["why", "things", "a", "--format", format],
                    environment: ["STRATA_REDIS_URL": blind, "STRATA_REDIS_PASSWORD": "any"]
                )
                .expectFailure(1, saying: "NOPERM")
                try await CommandRun.of(
                    ["why", "things", "a", "--format", format, "--url", "redis://127.0.0.1:1"]
                )
                .expectFailure(1, saying: "127.0.0.1:1")
            }
        }
    }

    @Test("keys, tags, holders and failures that act on a terminal do not")
    func hostile() async throws {
        try await Cache.with { cache in
            let text = "\u{1b}[2J\u{9b}31m\u{202e}\r\n\t"
            try await level(cache).set("value", for: key(text), tags: [text])
            let escaped = "\\x1b[2J\\u{9b}31m\\u{202e}\\x0d\\x0a\\x09"
            for format in ["table", "json"] {
                let run = try await cache.run("why", "things", "--escaped", "--format", format, "--", escaped)
                #expect(run.status.isSuccess, "\(run.errorText)")
                run.expectHarmless()
            }
            try await cache.redis.set(
                "strata:things:l:{a}",
                Array("T0123456789abcdef\(text)".utf8),
                expiringIn: .seconds(50)
            )
            let held = try await page(cache, "a").fields
            #expect(held["lease"]?.contains("held by \(escaped)") == true)
            try await cache.redis.set("strata:things:l:{a}", Array("F2:\(text)".utf8), expiringIn: .seconds(100))
            let failed = try await page(cache, "a").fields
            #expect(failed["failure"]?.hasPrefix("failed 2 times in a row with \(escaped); ") == true)
        }
    }

    #if os(Linux)
    @Test("on a terminal of 40 columns no line is longer, and none is broken in a word")
    func narrow() async throws {
        try await Cache.with { cache in
            try await level(cache).set("value", for: key("a"), tags: ["red"])
            let run = try await CommandRun.of(
                "export PROGRAM=\"$0\"; "
                    + "script -qec 'stty cols 40; \"$PROGRAM\" why things a' /dev/null </dev/null",
                environment: ["STRATA_REDIS_URL": cache.server.url, "SHELL": "/bin/sh", "NO_COLOR": "1"]
            )
            let lines = run.text.split(whereSeparator: \.isNewline).map(String.init)
            #expect(lines.count > 12)
            for line in lines { #expect(line.count <= 40, "\(line)") }
            #expect(!run.text.contains("\u{1b}"))
        }
    }
    #endif
}
