import Strata
import Testing

@testable import StrataRedis

/// Whatever lies under a value key: it is read, or refused with the right reason, and never a trap.
@Suite("Envelopes that are none")
struct EnvelopeFaultTests {
    private static let keyHash: UInt64 = 0x1122_3344_5566_7788

    private static let sample: [UInt8] = {
        var envelope = Envelope(
            kind: .value,
            codec: 3,
            keyHash: keyHash,
            version: EntryVersion(high: 1, low: 2),
            storedAt: 3,
            freshUntil: 4,
            staleUntil: 5,
            payload: Array("{\"a\":1}".utf8)
        )
        envelope.tags = ["one", "zwei"]
        return (try? envelope.encoded()) ?? []
    }()

    private func fault(_ bytes: [UInt8], keyHash: UInt64? = Self.keyHash) -> EnvelopeFault? {
        do throws(EnvelopeFault) {
            _ = try Envelope(bytes, keyHash: keyHash)
            return nil
        } catch {
            return error
        }
    }

    /// Bytes with another header, tags or payload and the checksum that fits.
    private func resealed(_ bytes: [UInt8], _ change: (inout [UInt8]) -> Void) -> [UInt8] {
        var bytes = bytes
        change(&bytes)
        let labels = Int(bytes[72]) | Int(bytes[73]) << 8
        let body = bytes[86...]
        let header = XXH64.hash(Array(bytes[..<78]))
        let checksum = XXH64.hash(
            Array(body.dropFirst(labels)),
            seed: XXH64.hash(Array(body.prefix(labels)), seed: header)
        )
        for index in 0..<8 { bytes[78 + index] = UInt8(truncatingIfNeeded: checksum >> UInt64(8 * index)) }
        return bytes
    }

    @Test("the sample is one")
    func sound() {
        #expect(fault(Self.sample) == nil)
        #expect(fault(resealed(Self.sample) { _ in }) == nil)
        #expect(resealed(Self.sample) { _ in } == Self.sample)
    }

    @Test("every truncation is one, and so is every byte too many")
    func truncated() {
        for count in 0..<Self.sample.count {
            #expect(fault(Array(Self.sample.prefix(count))) == .truncated, "\(count) bytes")
        }
        #expect(fault(Self.sample + [0]) == .truncated)
        #expect(fault(Self.sample + Self.sample) == .truncated)
    }

    @Test("every flipped bit is noticed, for what it is")
    func flippedBits() {
        for index in Self.sample.indices {
            for bit in 0..<8 {
                var bytes = Self.sample
                bytes[index] ^= 1 << bit
                let expected: EnvelopeFault =
                    switch index {
                    case 0...2: .foreign
                    case 3: bit == 0 ? .foreign : .newerFormat
                    case 72...77: .truncated
                    default: .damaged
                    }
                #expect(fault(bytes) == expected, "bit \(bit) of byte \(index)")
            }
        }
    }

    @Test("the envelope of another key is not this key's; without a key any will do")
    func otherKey() {
        #expect(fault(Self.sample, keyHash: Self.keyHash ^ 1) == .otherKey)
        #expect(fault(Self.sample, keyHash: 0) == .otherKey)
        #expect(fault(Self.sample, keyHash: nil) == nil)
        #expect(fault(resealed(Self.sample) { $0[12] ^= 1 }) == .otherKey)
    }

    @Test("later formats are known by their number alone, however long or short they are")
    func laterFormats() {
        for version in UInt8(2)...255 {
            #expect(fault([0xd7, 0x53, 0x54, version]) == .newerFormat)
            #expect(fault([0xd7, 0x53, 0x54, version] + [UInt8](repeating: 0, count: 200)) == .newerFormat)
            var bytes = Self.sample
            bytes[3] = version
            #expect(fault(bytes) == .newerFormat)
        }
        #expect(fault([0xd7, 0x53, 0x54, 0] + [UInt8](repeating: 0, count: 200)) == .foreign)
    }

    @Test("what is not ours is foreign")
    func foreign() {
        for text in ["{\"a\":1}", "hello", "<html>", "\u{d7}ST1", "    "] {
            #expect(fault(Array(text.utf8)) == .foreign)
        }
        for short in ["", "a", "abc"] { #expect(fault(Array(short.utf8)) == .truncated) }
    }

    @Test("kinds that this release does not have; compressions and protections are for the level's codec to know")
    func unknownContent() {
        for value in UInt8(3)...255 {
            #expect(fault(resealed(Self.sample) { $0[4] = value }) == .unknownContent, "kind \(value)")
        }
        for value in UInt8(1)...255 {
            #expect(fault(resealed(Self.sample) { $0[6] = value }) == nil, "compression \(value)")
            #expect(fault(resealed(Self.sample) { $0[7] = value }) == nil, "protection \(value)")
        }
        for value in UInt8(0)...2 { #expect(fault(resealed(Self.sample) { $0[4] = value }) == nil, "kind \(value)") }
    }

    @Test("lengths that do not add up, to the ends of their range")
    func lengths() {
        for (offset, count) in [(72, 2), (74, 4)] {
            for byte in [0, 1, 0x7f, 0x80, 0xff] as [UInt8] {
                var bytes = Self.sample
                for index in offset..<(offset + count) { bytes[index] = byte }
                #expect(fault(bytes) == .truncated)
            }
        }
    }

    @Test("tags whose lengths or text are wrong although the checksum fits")
    func brokenTags() {
        // The tags are 03 00 one 04 00 zwei, at offset 86.
        #expect(fault(resealed(Self.sample) { $0[86] = 4 }) == .truncated)
        #expect(fault(resealed(Self.sample) { $0[87] = 0xff }) == .truncated)
        #expect(fault(resealed(Self.sample) { $0[91] = 5 }) == .truncated)
        #expect(fault(resealed(Self.sample) { $0[91] = 3 }) == .truncated)
        #expect(fault(resealed(Self.sample) { $0[88] = 0xff }) == .damaged)
        // One byte of the second length belongs to the payload.
        #expect(fault(resealed(Self.sample) { ($0[72], $0[74]) = ($0[72] - 5, $0[74] + 5) }) == .truncated)
    }

    @Test("random bytes, with and without a plausible beginning, are never an envelope and never a trap")
    func randomBytes() {
        var random = SplitMix64.announced()
        for _ in 0..<20_000 {
            let bytes = random.bytes(.random(in: 0...200, using: &random))
            #expect(fault(bytes) != nil)
            var begun = bytes
            begun.replaceSubrange(0..<min(4, begun.count), with: [0xd7, 0x53, 0x54, 1].prefix(begun.count))
            #expect(fault(begun) != nil)
            guard bytes.count >= 86 else { continue }
            // Lengths that add up and a checksum that fits: only the content is random.
            let labels = Int.random(in: 0...(bytes.count - 86), using: &random)
            (begun[72], begun[73]) = (UInt8(labels), 0)
            (begun[74], begun[75], begun[76], begun[77]) = (UInt8(bytes.count - 86 - labels), 0, 0, 0)
            _ = fault(resealed(begun) { _ in }, keyHash: nil)
        }
    }
}
