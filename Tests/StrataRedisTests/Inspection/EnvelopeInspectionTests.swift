import Strata
import Testing

@testable import StrataRedis

@Suite("Envelopes looked at from outside")
struct EnvelopeInspectionTests {
    private let keyHash: UInt64 = 0x0123_4567_89ab_cdef

    private func envelope() -> Envelope {
        var envelope = Envelope(
            kind: .value,
            codec: 3,
            keyHash: keyHash,
            version: EntryVersion(high: 1, low: 0xff),
            storedAt: 1000,
            freshUntil: 2000,
            staleUntil: 3000,
            payload: Array("{\"a\":1}".utf8)
        )
        envelope.schema = 7
        envelope.fetchDuration = 1500
        envelope.tags = ["red", "green"]
        return envelope
    }

    private func look(at bytes: [UInt8], of size: Int? = nil) -> EnvelopeInspection {
        EnvelopeInspection(bytes, size: size ?? bytes.count, keyHash: keyHash)
    }

    @Test("a whole one shows all its fields")
    func whole() throws {
        let bytes = try envelope().encoded()
        let found = look(at: bytes)
        #expect(found.fault == nil)
        #expect(found.checksum == .matches)
        #expect(found.belongsToKey == true)
        #expect(found.format == 1)
        #expect(found.kind == .value)
        #expect(found.version == "000000000000000100000000000000ff")
        #expect(found.tags == ["red", "green"])
        #expect(found.payload == Array("{\"a\":1}".utf8))
        let header = try #require(found.header)
        #expect(header.codec == 3 && header.schema == 7 && header.fetchDuration == 1500)
        #expect(header.storedAt == 1000 && header.freshUntil == 2000 && header.staleUntil == 3000)
        #expect(header.payloadLength == 7)
    }

    @Test("the one of another key shows its fields and says so")
    func otherKey() throws {
        let found = EnvelopeInspection(try envelope().encoded(), size: try envelope().encoded().count, keyHash: 1)
        #expect(found.fault == .otherKey)
        #expect(found.belongsToKey == false)
        #expect(found.checksum == .matches)
        #expect(found.tags == ["red", "green"])
    }

    @Test("a changed byte anywhere behind the format number shows as a fault")
    func damaged() throws {
        let bytes = try envelope().encoded()
        for position in 4..<bytes.count {
            var changed = bytes
            changed[position] ^= 0x40
            let found = look(at: changed)
            #expect(found.fault == ((72..<78).contains(position) ? .truncated : .damaged), "byte \(position)")
            #expect(found.header != nil)
            #expect(found.checksum != .matches, "byte \(position)")
        }
    }

    @Test("one of a later release shows its format number and nothing that it might mean otherwise by now")
    func newerFormat() throws {
        var bytes = try envelope().encoded()
        bytes[3] = 2
        let found = look(at: bytes)
        #expect(found.fault == .newerFormat)
        #expect(found.format == 2)
        #expect(found.header == nil && found.kind == nil && found.version == nil && found.belongsToKey == nil)
        #expect(found.payload == bytes)
    }

    @Test("an unknown kind is shown by its number")
    func unknownKind() throws {
        var bytes = try envelope().encoded()
        bytes[4] = 9
        let checksum = XXH64.hash(
            Array("{\"a\":1}".utf8),
            seed: XXH64.hash(Array(bytes[86..<(bytes.count - 7)]), seed: XXH64.hash(Array(bytes[..<78])))
        )
        bytes.replaceSubrange(78..<86, with: (0..<8).map { UInt8(truncatingIfNeeded: checksum >> ($0 * 8)) })
        let found = look(at: bytes)
        #expect(found.fault == .unknownContent)
        #expect(found.checksum == .matches)
        #expect(found.kind == nil)
        #expect(found.header?.kind == 9)
    }

    @Test("every beginning of one is a fault, and whatever can be read is")
    func truncated() throws {
        let bytes = try envelope().encoded()
        for count in 0..<bytes.count {
            let found = look(at: Array(bytes[..<count]))
            #expect(found.fault == .truncated, "\(count) bytes")
            #expect((found.header != nil) == (count >= 86))
            #expect(found.checksum == .notChecked)
        }
    }

    @Test("of one too large to be read, header and tags are enough")
    func glimpse() throws {
        let bytes = try envelope().encoded()
        let found = look(at: Array(bytes.dropLast(4)), of: bytes.count)
        #expect(found.fault == nil)
        #expect(found.checksum == .notChecked)
        #expect(found.tags == ["red", "green"])
        #expect(found.payload == Array("{\"a".utf8))
        #expect(look(at: Array(bytes.dropLast(4)), of: bytes.count + 1).fault == .truncated)
    }

    @Test("random bytes, also behind a right beginning, have a fault and crash nothing")
    func random() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed: \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<3000 {
            let tail = (0..<Int.random(in: 0...200, using: &random))
                .map { _ in UInt8.random(in: 0 ... .max, using: &random) }
            let start: [UInt8] = [[], [0xd7], [0xd7, 0x53, 0x54], [0xd7, 0x53, 0x54, 1]].randomElement(using: &random)!
            let found = look(at: start + tail)
            #expect(found.fault != nil, "seed \(seed)")
        }
    }
}
