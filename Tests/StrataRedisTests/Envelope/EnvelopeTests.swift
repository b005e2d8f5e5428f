import Strata
import Testing

@testable import StrataRedis

@Suite("Envelopes")
struct EnvelopeTests {
    /// An envelope of arbitrary content.
    static func random(_ random: inout SplitMix64) -> Envelope {
        var envelope = Envelope(
            kind: [.value, .absence, .failure].randomElement(using: &random) ?? .value,
            codec: UInt8(truncatingIfNeeded: random.next()),
            keyHash: random.next(),
            version: EntryVersion(high: random.next(), low: random.next()),
            storedAt: Int64(bitPattern: random.next()),
            freshUntil: Int64(bitPattern: random.next()),
            staleUntil: Int64(bitPattern: random.next()),
            payload: random.bytes(.random(in: 0...100, using: &random))
        )
        envelope.schema = UInt32(truncatingIfNeeded: random.next())
        envelope.fetchDuration = UInt32(truncatingIfNeeded: random.next())
        envelope.asOf = random.next()
        let tags = ["", "a", "tag:1", "é", "e\u{301}", "😀\0", String(repeating: "x", count: 300)]
        envelope.tags = (0..<Int.random(in: 0...4, using: &random))
            .map { _ in tags.randomElement(using: &random) ?? "" }
        return envelope
    }

    @Test("what is written is read back, field by field, and takes the bytes it says")
    func roundTrip() throws {
        var random = SplitMix64.announced()
        for _ in 0..<2_000 {
            let envelope = Self.random(&random)
            let bytes = try envelope.encoded()
            let labels = envelope.tags.reduce(0) { $0 + 2 + $1.utf8.count }
            #expect(bytes.count == Envelope.headerSize + labels + envelope.payload.count)
            let found = try Envelope(bytes, keyHash: envelope.keyHash)
            #expect(found == envelope)
            #expect(found.tags.map { Array($0.utf8) } == envelope.tags.map { Array($0.utf8) })
            #expect(try found.encoded() == bytes)
        }
    }

    @Test("the largest tags fit, one byte more is a typed error")
    func tagLimits() throws {
        var envelope = Envelope(
            kind: .value,
            codec: 1,
            keyHash: 1,
            version: .none,
            storedAt: 0,
            freshUntil: 0,
            staleUntil: 0
        )
        func isTooLarge() -> Bool {
            do {
                _ = try envelope.encoded()
                return false
            } catch {
                return (error as? CacheError)?.code == .tooLarge
            }
        }
        envelope.tags = [String(repeating: "x", count: 65_533)]
        #expect(try Envelope(envelope.encoded(), keyHash: 1) == envelope)
        envelope.tags = [String(repeating: "x", count: 65_534)]
        #expect(isTooLarge())
        envelope.tags = [String(repeating: "x", count: 65_536)]
        #expect(isTooLarge())
        envelope.tags = [String](repeating: "x", count: 21_845)
        #expect(try Envelope(envelope.encoded(), keyHash: 1) == envelope)
        envelope.tags.append("")
        #expect(isTooLarge())
    }

    @Test("a payload of some megabytes goes through")
    func largePayload() throws {
        var random = SplitMix64.announced()
        var envelope = Self.random(&random)
        envelope.payload = random.bytes(3 << 20)
        let found = try Envelope(envelope.encoded(), keyHash: nil)
        let isSame = found == envelope
        #expect(isSame)
    }
}
