import Foundation
import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: having instances read keys", .timeLimit(.minutes(5)))
struct WarmTests {
    /// A file with these bytes.
    private func withFile(_ bytes: [UInt8], _ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file.path)
    }

    private func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        try await withFile(Array(text.utf8), body)
    }

    /// How many values there are.
    private func values(_ cache: Cache) async throws -> Int {
        var count = 0
        for try await batch in cache.redis.keys(beginningWith: Array("strata:things:v:".utf8)) { count += batch.count }
        return count
    }

    @Test("without --yes it tells who would read how much, and nothing is read", arguments: ["table", "plain", "json"])
    func refused(format: String) async throws {
        try await Cache.withTellers("web-1/7", "web-2/8") { cache, _ in
            try await withFile("a\nb\n\nc\nb\n") { file in
                let run = try await cache.run("warm", "things", file, "--format", format)
                #expect(run.status == .exited(2) && run.errorLines.count == 1, "\(run.errorText)")
                #expect(
                    run.errorText.contains("nothing was read; --yes has 2 instances read 3 keys of strata:things at ")
                )
                switch format {
                case "json":
                    let json = try run.json()
                    #expect(json["keys"] == .number(3) && json["done"] == .bool(false))
                    #expect(json["instances"]?.elements.map { $0["name"] } == [.string("web-1/7"), .string("web-2/8")])
                case "plain": #expect(run.lines == ["web-1/7", "web-2/8"].map { "\($0)\t0\t0\t0\t0\t0\tok" })
                default: #expect(run.lines.count == 3 && run.lines[0].hasPrefix("INSTANCE"))
                }
                #expect(try await values(cache) == 0)
            }
        }
    }

    @Test(
        "with --yes each key is read by one instance, and is there then; what each has acknowledged is told, and who asked",
        arguments: ["table", "plain", "json"]
    )
    func warmed(format: String) async throws {
        try await Cache.withTellers("web-1/7", "web-2/8") { cache, tellers in
            try await tellers[0].cache.set("there", for: "7")
            try await withFile((0..<40).map { "\($0)\r\n" }.joined()) { file in
                let run = try await cache.run("warm", "things", file, "--yes", "--rate", "250", "--format", format)
                #expect(run.status.isSuccess, "\(run.errorText)")
                #expect(
                    run.errorLines.count == 1 && run.errorText.hasPrefix("stratactl: audit: 20"),
                    "\(run.errorText)"
                )
                #expect(run.errorText.contains(": warm strata:things read 40 of 40 keys by 2 instances at 127.0.0.1:"))
                #expect(try await values(cache) == 40)
                let fetches = tellers.reduce(0) { $0 + $1.level.statistics.fetches }
                #expect(fetches == 39)
                for number in 0..<40 {
                    let value = try await tellers[0].level.get("\(number)")
                    #expect(value == (number == 7 ? "there" : "fetched \(number)"))
                }
                switch format {
                case "json":
                    let json = try run.json()
                    let rows = json["instances"]?.elements ?? []
                    func sum(_ name: String) -> Double { rows.reduce(0) { $0 + ($1[name]?.number ?? 0) } }
                    #expect(sum("keys") == 40 && sum("fetched") == 39 && sum("found") == 1 && sum("failed") == 0)
                    #expect(json["unanswered"] == .number(0) && json["done"] == .bool(true))
                case "plain": #expect(run.lines.count == 2 && run.lines.allSatisfy { $0.hasSuffix("\tok") })
                default: #expect(run.lines.last?.hasPrefix("40 of 40 keys of strata:things at ") == true)
                }
            }
        }
    }

    @Test("keys come as lines, as a JSON array, with NULs and by the standard input, as other commands print them")
    func forms() async throws {
        try await Cache.withTellers("web-1/7") { cache, tellers in
            let forms: [(bytes: [UInt8], arguments: [String], keys: [String])] = [
                (Array(" [\"a b\", 42, \"ä\"]".utf8), [], ["a b", "42", "ä"]),
                (Array("x\ny\0z\0".utf8), ["--null"], ["x\ny", "z"]),
                (Array("q\\x09r\nu\\\\v".utf8), ["--escaped"], ["q\tr", "u\\v"]),
            ]
            for form in forms {
                try await withFile(form.bytes) { file in
                    let run = try await CommandRun.of(
                        ["warm", "things", file, "--yes"] + form.arguments,
                        environment: ["STRATA_REDIS_URL": cache.server.url]
                    )
                    #expect(run.status.isSuccess, "\(run.errorText)")
                    for key in form.keys {
                        #expect(tellers[0].memory.resident(key, at: .now)?.value == "fetched \(key)")
                    }
                }
            }
            let piped = try await CommandRun.of(
                "printf 'p1\\np2\\n' | \"$0\" warm things - --yes",
                environment: ["STRATA_REDIS_URL": cache.server.url]
            )
            #expect(piped.status.isSuccess, "\(piped.errorText)")
            #expect(tellers[0].memory.resident("p2", at: .now)?.value == "fetched p2")
        }
    }

    @Test("a file that holds no keys, or cannot be read, is one line; so are limits that are none")
    func badFiles() async throws {
        try await Cache.with { cache in
            for (bytes, words) in [
                (Array("\n\n".utf8), "there is no key in "),
                (Array("[\"a\", {}]".utf8), "a JSON array of strings and whole numbers"),
                (Array("[\"a\"".utf8), "a JSON array of strings"), ([0x61, 0x0a, 0xff], "line 2 is not UTF-8"),
                (Array(String(repeating: "k", count: 513).utf8), "key 1 has more than 512 bytes"),
            ] as [([UInt8], String)] {
                try await withFile(bytes) { file in
                    try await cache.run("warm", "things", file, "--yes").expectFailure(64, saying: words)
                }
            }
            try await cache.run("warm", "things", "/nonexistent/keys")
                .expectFailure(64, saying: "/nonexistent/keys: No such file")
            try await cache.run("warm", "things", "/").expectFailure(64, saying: "not a regular file")
            for arguments in [["--rate", "0"], ["--rate", "251"], ["--wait", "0.5"], ["--limit", "0"]] {
                let run = try await CommandRun.of(["warm", "things", "-"] + arguments)
                #expect(run.status == .exited(64))
            }
        }
    }

    @Test("without an instance, or without the keyspace, nothing can be read")
    func nobody() async throws {
        try await Cache.with { cache in
            try await cache.level(.text).set("value", for: Array("a".utf8))
            try await withFile("a") { file in
                try await cache.run("warm", "things", file, "--yes")
                    .expectFailure(1, saying: "no instance is listed that could read")
                try await cache.run("warm", "thigns", file, "--yes").expectFailure(3, saying: "did you mean 'things'?")
            }
        }
    }

    @Test("reads that fail, instances that do not answer, and answers that make no sense are told, and the status is 1")
    func failures() async throws {
        try await Cache.with { cache in
            let failing = try await Teller(
                cache,
                name: "web-1/7",
                fetch: { key in
                    if key.hasPrefix("bad") { throw NoSuchThing() }
                    return key.hasPrefix("none") ? nil : "fetched"
                }
            )
            try await withFile("good\nbad \u{1b}[2J\nnone") { file in
                let run = try await cache.run("warm", "things", file, "--yes")
                #expect(run.status == .exited(1))
                run.expectHarmless()
                #expect(run.errorLines.last?.hasSuffix("of 3 keys 1 have failed") == true, "\(run.errorText)")
                #expect(run.errorText.contains("warm strata:things read 2 of 3 keys"))
                #expect(run.lines.contains { $0.hasPrefix("bad \\x1b[2J") && $0.hasSuffix("the read has failed") })
                let json = try await cache.run("warm", "things", file, "--yes", "--format", "json").json()
                #expect(json["failures"]?.elements.map { $0["key"] } == [.string("bad \u{1b}[2J")])
            }
            await failing.end()
            // It is listed, and not there.
            try await cache.list([(cache.number(1), InstanceRecord.written(as: "ghost/1"))])
            try await withFile("a\nb") { file in
                let run = try await cache.run("warm", "things", file, "--yes", "--wait", "1")
                #expect(run.status == .exited(1))
                #expect(run.errorLines.last?.contains("no instance has answered for 2") == true, "\(run.errorText)")
            }
        }
    }

    @Test("an instance that reads no keys says so")
    func unwilling() async throws {
        try await Cache.with { cache in
            let teller = try await Teller(cache, name: "web-1/7", warmRate: 0)
            try await withFile("a") { file in
                let run = try await cache.run("warm", "things", file, "--yes")
                #expect(run.status == .exited(1))
                #expect(run.text.contains("the instance does not read keys on request"))
                #expect(teller.level.statistics.fetches == 0)
            }
            await teller.end()
        }
    }

    @Test("keys that one instance does not read are read by another")
    func unwillingAndWilling() async throws {
        try await Cache.with { cache in
            let unwilling = try await Teller(cache, name: "web-1/7", warmRate: 0)
            let willing = try await Teller(cache, name: "web-2/8")
            try await withFile((0..<100).map { "key \($0)" }.joined(separator: "\n")) { file in
                let run = try await cache.run("warm", "things", file, "--yes", "--rate", "250")
                #expect(run.status.isSuccess, "\(run.errorText)")
                #expect(run.errorText.contains("read 100 of 100 keys by 2 instances"))
                #expect(willing.level.statistics.fetches == 100)
            }
            await unwilling.end()
            await willing.end()
        }
    }

    @Test("it takes the right to ask instances, and no more")
    func rights() async throws {
        let directives: [RedisServer.Directive] = [
            .init(stringLiteral: "user asker on nopass \(AccessRules(for: [.inspect]).description)"),
            .init(stringLiteral: "user looker on nopass \(AccessRules(for: [.look]).description)"),
        ]
        try await Cache.withTellers("web-1/7", configuration: .init(directives: directives)) { cache, _ in
            try await withFile("a\nb") { file in
                for (user, status) in [("asker", Int32(0)), ("looker", 1)] {
                    let url = cache.server.url.replacing("://", with: "://\(user)@")
                    let run = try await cache.run(
                        "warm",
                        "things",
                        file,
                        "--yes",
                        environment: ["STRATA_REDIS_URL": url, "STRATA_REDIS_PASSWORD": "any"]
                    )
                    #expect(run.status == .exited(status), "\(user): \(run.errorText)")
                }
            }
        }
    }
}

private struct NoSuchThing: Error {}

extension InstanceRecord {
    /// The bytes of a record of an instance with this name.
    static func written(as name: String) throws -> [UInt8] {
        let record = """
            {"form": 1, "name": "\(name)", "version": "0", "host": "h", "process": 1, "uptime": 1, "levels": [], "durations": {}}
            """
        struct Plain: Codable {
            var form, process, uptime: Int
            var name, version, host: String
            var levels: [String]
            var durations: [String: Int]
        }
        return try Codec<Plain>.cbor.encode(JSONDecoder().decode(Plain.self, from: Data(record.utf8)))
    }
}
