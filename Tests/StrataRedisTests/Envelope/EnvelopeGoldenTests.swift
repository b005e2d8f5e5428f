import Foundation
import Strata
import Testing

@testable import StrataRedis

/// Released formats are read for ever.
@Suite("Golden envelopes")
struct EnvelopeGoldenTests {
    private static let key = XXH64.hash(Array("strata:products:v:{42}".utf8))

    /// What the golden file says, in its order.
    private static let expected: [(name: String, envelope: Envelope)] = [
        ("value", plainValue), ("tagged", tagged), ("absence", absence), ("failure", failure), ("bytes", everyByte),
    ]

    private static var plainValue: Envelope {
        var envelope = Envelope(
            kind: .value,
            codec: 2,
            keyHash: key,
            version: EntryVersion(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210),
            storedAt: 1_700_000_000_000,
            freshUntil: 1_700_000_300_000,
            staleUntil: 1_700_000_300_000,
            payload: Array("Pencil, soft: 0.35 €".utf8)
        )
        envelope.fetchDuration = 50_000
        return envelope
    }

    private static var tagged: Envelope {
        var envelope = Envelope(
            kind: .value,
            codec: 3,
            keyHash: key,
            version: EntryVersion(high: 1, low: 0),
            storedAt: 1_700_000_000_001,
            freshUntil: 1_700_000_060_001,
            staleUntil: 1_700_003_660_001,
            payload: Array(#"{"name":"Pencil"}"#.utf8)
        )
        envelope.schema = 7
        envelope.fetchDuration = .max
        envelope.asOf = 1_700_000_000_123_456
        envelope.tags = ["category:9", "", "日本"]
        return envelope
    }

    private static var absence: Envelope {
        var envelope = Envelope(
            kind: .absence,
            codec: 3,
            keyHash: key,
            version: EntryVersion(high: .max, low: .max),
            storedAt: 1_700_000_000_000,
            freshUntil: 1_700_000_030_000,
            staleUntil: 1_700_000_030_000
        )
        envelope.schema = 7
        envelope.fetchDuration = 1_234
        return envelope
    }

    private static var failure: Envelope {
        Envelope(
            kind: .failure,
            codec: 0,
            keyHash: key,
            version: EntryVersion(high: 2, low: 3),
            storedAt: 1_700_000_000_000,
            freshUntil: 1_700_000_001_000,
            staleUntil: 1_700_000_001_000
        )
    }

    private static var everyByte: Envelope {
        var envelope = Envelope(
            kind: .value,
            codec: 1,
            keyHash: XXH64.hash(Keyspace("x:y").names(for: [0xff, 0]).value.bytes),
            version: EntryVersion(high: 4, low: 5),
            storedAt: .min,
            freshUntil: .max,
            staleUntil: .max,
            payload: Array(0...255)
        )
        envelope.schema = .max
        envelope.fetchDuration = 1
        envelope.asOf = .max
        envelope.tags = ["t"]
        return envelope
    }

    /// The envelopes of the file next to this one, by name.
    private func golden() throws -> [String: [UInt8]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/envelope-v1.hex")
        var digits: [String: String] = [:]
        var name = ""
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasSuffix(":") {
                name = String(line.dropLast())
            } else {
                digits[name, default: ""] += line.dropFirst(2)
            }
        }
        return digits.mapValues { text in
            stride(from: 0, to: text.utf8.count, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
        }
    }

    @Test("every envelope of format 1 is read as what it says")
    func read() throws {
        let golden = try golden()
        #expect(golden.count == Self.expected.count)
        for (name, expected) in Self.expected {
            let bytes = try #require(golden[name], "\(name)")
            let found = try Envelope(bytes, keyHash: expected.keyHash)
            #expect(found.kind == expected.kind, "\(name)")
            #expect(found.codec == expected.codec, "\(name)")
            #expect(found.compression == 0 && found.protection == 0, "\(name)")
            #expect(found.schema == expected.schema, "\(name)")
            #expect(found.keyHash == expected.keyHash, "\(name)")
            #expect(found.version == expected.version, "\(name)")
            #expect(found.storedAt == expected.storedAt, "\(name)")
            #expect(found.freshUntil == expected.freshUntil, "\(name)")
            #expect(found.staleUntil == expected.staleUntil, "\(name)")
            #expect(found.fetchDuration == expected.fetchDuration, "\(name)")
            #expect(found.asOf == expected.asOf, "\(name)")
            #expect(found.tags == expected.tags, "\(name)")
            #expect(found.payload == expected.payload, "\(name)")
            #expect(found == expected, "\(name)")
        }
    }

    @Test("every envelope of format 1 is written as it always was, byte for byte")
    func write() throws {
        let golden = try golden()
        for (name, expected) in Self.expected { #expect(try expected.encoded() == golden[name], "\(name)") }
    }

    @Test("the version stamp is where it is said to be, for reading it alone")
    func stampRange() throws {
        let bytes = try #require(try golden()["value"])
        let stamp = bytes[Envelope.versionRange]
        #expect(
            Array(stamp) == [
                0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe,
            ]
        )
    }
}
