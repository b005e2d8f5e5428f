import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: what no level can use", .timeLimit(.minutes(5)))
struct UnusableTests {
    /// How a sound envelope is spoiled, and what is to be said of it.
    enum Spoiled: String, CaseIterable, Sendable {
        case flipped
        case cut
        case newer
        case unknownKind
        case ofAnotherKey
        case foreign
        case empty

        var explanation: String {
            switch self {
            case .flipped: "damaged: the checksum does not fit"
            case .cut, .empty: "cut short"
            case .newer: "a format of a later release"
            case .unknownKind: "does not know"
            case .ofAnotherKey: "the envelope of another key"
            case .foreign: "not an envelope"
            }
        }

        var fault: String {
            switch self {
            case .flipped: "damaged"
            case .cut, .empty: "truncated"
            case .newer: "newerFormat"
            case .unknownKind: "unknownContent"
            case .ofAnotherKey: "otherKey"
            case .foreign: "foreign"
            }
        }

        /// A line that has to be there beside the state.
        var line: (name: String, value: String) {
            switch self {
            case .flipped: ("checksum", "differs")
            case .cut: ("checksum", "not checked")
            case .newer: ("format", "2 (not read)")
            case .unknownKind: ("kind", "unknown (9)")
            case .ofAnotherKey: ("key hash", "that of another key")
            case .foreign, .empty: ("format", "none")
            }
        }
    }

    @Test("a spoiled envelope is shown with what is wrong with it", arguments: Spoiled.allCases)
    func spoiled(how: Spoiled) async throws {
        try await Cache.with { cache in
            let stored = try bytes(cache.envelope(of: "k"), how)
            try await cache.store(stored, under: "k")
            let table = try await cache.run("get", "things", "k", "--value")
            #expect(table.status.isSuccess)
            let state = try #require(table.lines.first { $0.hasPrefix("state") })
            #expect(state.contains("unusable") && state.contains(how.explanation), "\(state)")
            let line = try #require(table.lines.first { $0.hasPrefix(how.line.name + "  ") }, "\(table.text)")
            #expect(line.hasSuffix("  " + how.line.value), "\(line)")
            let json = try await cache.run("get", "things", "k", "--value", "--format", "json").json()
            #expect(json["state"] == .string("unusable"))
            #expect(json["fault"] == .string(how.fault))
            #expect((json["envelope"] == nil) == [.newer, .foreign, .empty].contains(how))
            // Looking changes nothing.
            #expect(try await cache.redis.get("strata:things:v:{k}") == stored)
        }
    }

    private func bytes(_ envelope: Envelope, _ how: Spoiled) throws -> [UInt8] {
        var envelope = envelope
        if how == .ofAnotherKey { envelope.keyHash &+= 1 }
        var bytes = try envelope.encoded()
        switch how {
        case .flipped: bytes[bytes.count - 1] ^= 1
        case .cut: bytes.removeLast()
        case .newer: bytes[3] = 2
        case .unknownKind:
            bytes[4] = 9
            let sum = XXH64.hash(envelope.payload, seed: XXH64.hash([], seed: XXH64.hash(Array(bytes[..<78]))))
            bytes.replaceSubrange(78..<86, with: (0..<8).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) })
        case .ofAnotherKey: break
        case .foreign: bytes = Array("O:8:\"stdClass\":0:{}\u{1b}[2J".utf8)
        case .empty: bytes = []
        }
        return bytes
    }

    @Test("other types of Redis are named, wherever they lie")
    func otherTypes() async throws {
        try await Cache.with { cache in
            for (type, command) in [
                ("hash", ["HSET", "strata:things:v:{k}", "a", "b"]), ("list", ["LPUSH", "strata:things:v:{k}", "a"]),
                ("set", ["SADD", "strata:things:v:{k}", "a"]), ("zset", ["ZADD", "strata:things:v:{k}", "1", "a"]),
                ("stream", ["XADD", "strata:things:v:{k}", "*", "a", "b"]),
            ] {
                _ = try await cache.redis.send(command.map { Array($0.utf8) })
                let table = try await cache.run("get", "things", "k", "--value")
                #expect(table.status.isSuccess)
                #expect(table.text.contains("type \(type)"))
                let json = try await cache.run("get", "things", "k", "--value", "--format", "json").json()
                #expect(json["type"] == .string(type))
                #expect(json["state"] == .string("unusable"))
                #expect(try await cache.run("keys", "things").lines == ["KEY", "k"])
                #expect(try await cache.run("keyspaces").lines.count == 2)
                #expect(try await cache.run("remove", "things", "k", "--yes").status.isSuccess)
                #expect(try await cache.size() == 0)
            }
            _ = try await cache.redis.send("HSET", "strata:things:l:{k}", "a", "b")
            #expect(try await cache.run("leases", "things").text.contains("not a lease"))
            let lease = try await cache.run("leases", "things", "--format", "json").json()["leases"]?.elements.first
            #expect(lease != nil && lease?["token"] == nil)
            #expect(try await cache.run("clear", "things", "--yes").status.isSuccess)
            #expect(try await cache.size() == 0)
        }
    }

    @Test("times, tags and numbers of any size are shown and crash nothing")
    func extremes() async throws {
        try await Cache.with { cache in
            for time in [Int64.min, .min + 1, -62_135_596_800_001, -1, 0, 253_402_300_800_000, .max - 1, .max] {
                var envelope = cache.envelope(of: "k", codec: 200)
                envelope.storedAt = time
                envelope.freshUntil = time
                envelope.staleUntil = time
                envelope.schema = .max
                envelope.fetchDuration = .max
                envelope.asOf = .max
                envelope.tags = ["", "\u{1b}]0;title\u{7}", String(repeating: "t", count: 10_000)]
                try await cache.store(try envelope.encoded(), under: "k")
                let table = try await cache.run("get", "things", "k")
                #expect(table.status.isSuccess)
                #expect(table.text.contains("18446744073709551615"))
                #expect(table.text.contains("200 (unknown here)"))
                table.expectHarmless()
                let json = try await cache.run("get", "things", "k", "--format", "json").json()
                #expect(json["envelope"]?["stored"]?["milliseconds"]?.number == Double(time))
            }
        }
    }

    @Test("a value that is no JSON although its codec says so is shown as far as it goes")
    func brokenJSON() async throws {
        try await Cache.with { cache in
            let payloads: [[UInt8]] = [
                Array(repeating: UInt8(ascii: "["), count: 20_000), Array("{\"a\":\"\u{1b}[31m\u{202e}\n".utf8),
                [0x7b, 0xff, 0x22, 0x1b, 0x22, 0x7d], Array("}}}]]]\"\\".utf8), [],
            ]
            for payload in payloads {
                try await cache.store(try cache.envelope(of: "k", codec: 3, payload: payload).encoded(), under: "k")
                let table = try await cache.run("get", "things", "k", "--value", "--max-bytes", "0")
                #expect(table.status.isSuccess)
                #expect(table.output.count < 20_000_000)
                table.expectHarmless()
                _ = try await cache.run("get", "things", "k", "--value", "--max-bytes", "0", "--format", "json").json()
            }
        }
    }
}
