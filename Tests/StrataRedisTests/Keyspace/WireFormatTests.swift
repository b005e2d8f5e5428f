import Foundation
import Strata
import Testing

@testable import StrataRedis

/// What `docs/internals/wire-format.md` says is what the code does.
@Suite("The page on the form in Redis")
struct WireFormatTests {
    private func page() throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        return try String(contentsOf: root.appending(path: "docs/internals/wire-format.md"), encoding: .utf8)
    }

    /// The rows of a section's table, without its head.
    private func rows(_ section: String) throws -> [[String]] {
        let page = try page()
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.drop { $0 == "#" } == " \(section)" }, "no section \(section)")
        let table = lines[(start + 1)...].prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("|") }.dropFirst(2)
        #expect(!table.isEmpty, "no table in \(section)")
        return table.map { line in
            line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The text between a cell's back quotes.
    private func quoted(_ cell: String) throws -> String {
        try #require(
            cell.split(separator: "`", omittingEmptySubsequences: false).dropFirst().first.map(String.init),
            "\(cell)"
        )
    }

    private func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        var bytes: [UInt8] = []
        for shift in 0..<(Number.bitWidth / 8) { bytes.append(UInt8(truncatingIfNeeded: number >> (shift * 8))) }
        return bytes
    }

    @Test("names of keys and of the channel")
    func names() throws {
        let keyspace = Keyspace("products")
        let names = keyspace.names(for: Array("42".utf8))
        // One whose tag is a single digit.
        let part = try #require(KeyspacePart.all.first { $0.marksTag.count == 1 })
        let digit = part.marksTag[0]
        #expect(part.number == 1)
        let expected = [
            "value": names.value.bytes, "lease": names.lease.bytes, "marks": keyspace.marks, "channel": keyspace.events,
            "marks of a part": keyspace.marks(of: part).map { $0 == digit ? UInt8(ascii: "n") : $0 },
            "list of instances": keyspace.instances.bytes,
            "record of an instance": keyspace.record(of: "INSTANCE").bytes,
            "answer of an instance": keyspace.answer(to: "QUESTION", of: "INSTANCE").bytes,
            "channel of a part": keyspace.channel(of: part).map { $0 == UInt8(ascii: "1") ? UInt8(ascii: "p") : $0 },
        ]
        let rows = try rows("Names")
        #expect(rows.count == expected.count)
        for row in rows { #expect(expected[row[0]] == Array(try quoted(row[1]).utf8), "\(row[0])") }
        let tags = KeyspacePart.all.map { String(decoding: $0.marksTag, as: UTF8.self) }
        let told = tags.dropLast().joined(separator: ", ") + " and " + (tags.last ?? "")
        #expect(try page().contains("in their order: \(told)."))
    }

    @Test("fields of the envelope, with their offsets and lengths")
    func envelope() throws {
        var envelope = Envelope(
            kind: .failure,
            codec: 201,
            keyHash: 0x1112_1314_1516_1718,
            version: EntryVersion(high: 0x2122_2324_2526_2728, low: 0x3132_3334_3536_3738),
            storedAt: 0x4142_4344_4546_4748,
            freshUntil: 0x5152_5354_5556_5758,
            staleUntil: 0x6162_6364_6566_6768,
            payload: Array(repeating: 9, count: 0x1234)
        )
        envelope.compression = 202
        envelope.protection = 203
        envelope.schema = 0x7172_7374
        envelope.fetchDuration = 0x8182_8384
        envelope.asOf = 0x9192_9394_9596_9798
        envelope.tags = [String(repeating: "t", count: 0x0567)]
        let bytes = try envelope.encoded()
        let tags: [UInt8] = littleEndian(UInt16(0x0567)) + Array(envelope.tags[0].utf8)
        let headerHash = XXH64.hash(Array(bytes[..<78]))
        let checksum = XXH64.hash(envelope.payload, seed: XXH64.hash(tags, seed: headerHash))
        let version: [UInt8] = littleEndian(envelope.version.high) + littleEndian(envelope.version.low)
        let expected: [(field: String, bytes: [UInt8])] = [
            ("magic: `d7 53 54`", [0xd7, 0x53, 0x54]), ("format version: 1", [1]), ("kind", [2]), ("codec", [201]),
            ("compression", [202]), ("protection", [203]),
            ("schema number of the value's type", littleEndian(envelope.schema)),
            ("XXH64 of the value's full name in Redis", littleEndian(envelope.keyHash)),
            ("version stamp: random for each write", version),
            ("stored at", littleEndian(envelope.storedAt)), ("fresh until", littleEndian(envelope.freshUntil)),
            ("stale until", littleEndian(envelope.staleUntil)),
            ("duration of the fetch, in microseconds", littleEndian(envelope.fetchDuration)),
            ("invalidation number: what is later voids the entry", littleEndian(envelope.asOf)),
            ("length of the tags", littleEndian(UInt16(0x0569))),
            ("length of the payload", littleEndian(UInt32(0x1234))),
            ("checksum", littleEndian(checksum)),
        ]
        let rows = try rows("Envelope")
        try #require(rows.count == expected.count + 1)
        var offset = 0
        for (row, expected) in zip(rows, expected) {
            #expect(row[2] == expected.field)
            #expect(Int(row[0]) == offset, "\(row[2])")
            let length = try #require(Int(row[1]), "\(row[2])")
            #expect(Array(bytes[offset..<(offset + length)]) == expected.bytes, "\(row[2])")
            offset += length
        }
        #expect(Int(rows[expected.count][0]) == offset && offset == Envelope.headerSize)
        #expect(rows.contains { Int($0[0]) == Envelope.checksummedSize && $0[2] == "checksum" })
        #expect(rows.contains { Int($0[0]) == Envelope.versionRange.lowerBound && $0[2].hasPrefix("version stamp") })
    }

    @Test("numbers of kinds and codecs")
    func numbers() throws {
        let kinds = try rows("Kinds")
        for number in UInt8.min ... .max {
            let kind = Envelope.Kind(rawValue: number).map { "\($0)" }
            #expect(kind == kinds.first { $0[0] == String(number) }?[1])
        }
        let codecs: [UInt8: String] = [
            Codec<[UInt8]>.bytes.identifier: "bytes", Codec<String>.text.identifier: "text",
            Codec<Int>.json.identifier: "JSON",
            Codec<Int>.cbor.identifier: "CBOR", Codec<[Int]>.propertyList.identifier: "property list",
        ]
        let rows = try rows("Codecs")
        #expect(rows.count == codecs.count)
        for row in rows { #expect(try codecs[#require(UInt8(row[0]))] == row[1]) }
    }

    @Test("records of leases")
    func leases() throws {
        let token = Array(repeating: UInt8(7), count: 16)
        let long = String(repeating: "x", count: 300)
        let records: [String: (record: LeaseRecord, form: String, tail: [UInt8])] = [
            "held": (
                .held(token: token, holder: long),
                "a token of 16 random bytes, the holder's name; then, if its read is traced, a space and `traceparent`",
                token
            ),
            "failed": (
                .failed(attempts: 12, message: long), "the number of failures in a row in decimal, `:`, a message",
                Array("12:".utf8)
            ),
        ]
        let rows = try rows("Lease")
        #expect(rows.count == records.count)
        for row in rows {
            let (record, form, tail) = try #require(records[row[0]])
            #expect(row[2] == form)
            var expected = Array(try quoted(row[1]).utf8)
            expected += tail
            expected += long.utf8.prefix(200)
            #expect(record.bytes == expected)
            #expect(LeaseRecord(record.bytes)?.bytes == record.bytes)
        }
        let field = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let traced = LeaseRecord.held(token: token, holder: "web", traceParent: TraceParent(field.utf8))
        #expect(traced.bytes == Array("T".utf8) + token + Array("web \(field)".utf8))
        #expect(LeaseRecord(traced.bytes) == traced)
        let new = LeaseRecord.new(holder: "").bytes
        #expect(new.count == 1 + 16)
        #expect(LeaseRecord(Array("F1000001:".utf8)) == .failed(attempts: 1_000_000, message: ""))
    }

    @Test("messages on the channel")
    func messages() throws {
        let rows = try rows("Messages on the channel")
        let documented = try Dictionary(uniqueKeysWithValues: rows.map { (try quoted($0[0]), $0[1]) })
        for letter in UInt8.min ... .max {
            let text = documented[String(UnicodeScalar(letter))]
            #expect((KeyspaceEvent(rawValue: letter) != nil) == (text?.hasSuffix(": the value's full name") ?? false))
            #expect(TagEvent.isMeant(by: [letter]) == (text?.contains(": the number before, `:`, the number") ?? false))
        }
        #expect(
            documented[String(UnicodeScalar(FleetQuestion.letter))]?.hasPrefix("a question to all instances") == true
        )
        let names = Keyspace("products").names(for: Array("42".utf8))
        #expect(try #require(documented["i"]).hasPrefix("a key was removed"))
        #expect(KeyspaceEvent.invalidated.message(for: names) == Array("i".utf8) + names.value.bytes)
        #expect(try #require(documented["e"]).hasPrefix("a lease ended without a value"))
        #expect(KeyspaceEvent.ended.message(for: names) == Array("e".utf8) + names.value.bytes)
        let tagged: [UInt8] = Array("t7:9:\u{2}\0=a".utf8)
        #expect(TagEvent(tagged)?.scope == .tags([TagName("a")]))
        #expect(try #require(documented["c"]).hasPrefix("everything was cleared"))
        #expect(TagEvent(Array("c7:9:".utf8))?.scope == .everything)
        #expect(TagEvent.longestPayload == 16_384)
    }

    @Test("fields of the marks")
    func marks() throws {
        let fields = try rows("Marks").map { try quoted($0[0]) }
        let named = fields.filter { !["=", "#"].contains($0) }
        let arguments = named.map { "'" + $0 + "'" }.joined(separator: ", ")
        #expect(TagScripts.advance.source.contains("'HMGET', KEYS[1], " + arguments + ")"))
        let plain = TagName(String(repeating: "a", count: 128)).bytes
        #expect(plain.count == 129 && fields.contains(String(UnicodeScalar(plain[0]))))
        let hashed = TagName(String(repeating: "a", count: 129)).bytes
        #expect(hashed.count == 65 && fields.contains(String(UnicodeScalar(hashed[0]))))
        #expect(fields.count == 6)
    }

    @Test("records, questions and answers of instances")
    func instances() throws {
        let rows = try rows("Questions").map { try quoted($0[0]) }
        let page = try page()
        let number = QuestionNumber()
        let warming = WarmQuestion(QuestionNumber(), [[7]])
        for question in [
            FleetQuestion.key([7]), .figures(hottest: 7), .versions([.init([7], .none)]), .hottest(7, of: [number]),
            .warm(warming),
        ] {
            let letter = question.message(number)[1 + QuestionNumber.length]
            #expect(rows.contains(String(UnicodeScalar(letter))))
            #expect(question.message(number).starts(with: [FleetQuestion.letter] + Array(number.text.utf8)))
        }
        #expect(page.contains("of \(InstanceRecord.longest) bytes at most"))
        #expect(page.contains("of \(FleetQuestion.longestKey) bytes at most"))
        #expect(page.contains("\(FleetQuestion.mostKeys) at most"))
        #expect(page.contains("\(HottestKeys.mostKeys) at most") && page.contains("of \(HottestKeys.longest)."))
        #expect(page.contains("users' keys of \(HottestKeys.longestKey) bytes at most"))
        #expect(page.contains("\(FleetQuestion.mostNamed) at most") && HottestKeys.form == InstanceRecord.form)
        #expect(page.contains("reads up to \(WarmQuestion.mostKeys) keys") && WarmQuestion.longestKey == 512)
        #expect(warming.bytes == Array(warming.instance.text.utf8) + [1, 0, 7])
        #expect(page.contains("whose `form` is not \(InstanceRecord.form)") && KeyFinding.form == InstanceRecord.form)
        // Every field of both has a row, or stands in one.
        let documented = page[try #require(page.range(of: "## Instances")).lowerBound...]
        let record = InstanceRecord(name: "", uptime: .zero, link: "", label: LevelLabel("memory"), hottest: [])
        let versions = VersionAnswer([], ChangeTrail(at: .now), isTold: true, link: nil, at: .now)
        let key = VersionAnswer.Key(state: "")
        for mirror in [
            Mirror(reflecting: record), Mirror(reflecting: KeyFinding(.fresh)), Mirror(reflecting: versions),
            Mirror(reflecting: key), Mirror(reflecting: HottestKeys([])), Mirror(reflecting: WarmAnswer([])),
        ] {
            for child in mirror.children { #expect(documented.contains("`\(try #require(child.label))`")) }
        }
        for state in [KeyFinding.State.absent, .fresh, .stale, .expired, .suspect, .voidByTag, .voidByChange, .unknown]
        {
            #expect(documented.contains("`\(state.rawValue)`"))
        }
        for outcome in WarmAnswer.Outcome.allCases { #expect(documented.contains("`\(outcome.rawValue)`")) }
    }
}
