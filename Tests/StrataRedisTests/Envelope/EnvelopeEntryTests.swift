import Strata
import Testing

@testable import StrataRedis

/// From envelope to entry, without a server: what the level makes of bytes that it has found.
@Suite("Envelopes as entries")
struct EnvelopeEntryTests {
    private let level: RedisLevel<Int, String>
    private let names: KeyNames

    init() throws {
        level = try RedisLevel(RedisClient("redis://127.0.0.1:1"), keyspace: "test", codec: .text, schema: 4)
        names = level.names(for: 42)
    }

    private func envelope(_ change: (inout Envelope) -> Void = { _ in }) throws -> [UInt8] {
        var envelope = Envelope(
            kind: .value,
            codec: 2,
            keyHash: names.fingerprint,
            version: EntryVersion(high: 1, low: 2),
            storedAt: 1_000,
            freshUntil: 2_000,
            staleUntil: 3_000,
            payload: Array("v".utf8)
        )
        envelope.schema = 4
        envelope.fetchDuration = 50
        envelope.tags = ["t"]
        change(&envelope)
        return try envelope.encoded()
    }

    private func fault(_ bytes: [UInt8]) -> EnvelopeFault? {
        do throws(EnvelopeFault) {
            _ = try level.entry(of: bytes, names, .none, clockOffset: 0)
            return nil
        } catch {
            return error
        }
    }

    @Test("a value is an entry with its times on this machine's clock")
    func value() throws {
        let entry = try level.entry(of: envelope(), names, .none, clockOffset: 1_000_000_000)
        #expect(entry.value == "v")
        #expect(entry.freshUntil == MonotonicInstant(nanoseconds: 1_000_000_000))
        #expect(entry.staleUntil == MonotonicInstant(nanoseconds: 2_000_000_000))
        #expect(entry.version == EntryVersion(high: 1, low: 2))
        #expect(entry.tags == ["t"])
        #expect(entry.fetchDuration == .microseconds(50))
        #expect(entry.origin == .redis)
    }

    @Test("an absence is an entry, whatever its codec")
    func absence() throws {
        let bytes = try envelope { ($0.kind, $0.codec, $0.payload) = (.absence, 200, []) }
        let entry = try level.entry(of: bytes, names, .none, clockOffset: 0)
        guard case .absent = entry.content else {
            Issue.record("not absent")
            return
        }
    }

    @Test("another schema, another codec, another kind, another key, bytes that the codec refuses")
    func faults() throws {
        #expect(fault(try envelope { $0.schema = 5 }) == .newerSchema)
        #expect(fault(try envelope { ($0.kind, $0.schema, $0.payload) = (.absence, 5, []) }) == .newerSchema)
        for codec in [0, 1, 3, 127, 128, 255] as [UInt8] {
            #expect(fault(try envelope { $0.codec = codec }) == .unknownContent)
        }
        for stage in UInt8(1)...255 {
            #expect(fault(try envelope { $0.compression = stage }) == .unknownContent)
            #expect(fault(try envelope { $0.protection = stage }) == .unknownContent)
        }
        #expect(fault(try envelope { $0.kind = .failure }) == .unknownContent)
        #expect(fault(try envelope { $0.keyHash ^= 1 << 40 }) == .otherKey)
        #expect(fault(try envelope { $0.keyHash = level.names(for: 43).fingerprint }) == .otherKey)
        #expect(fault(try envelope { $0.payload = [0xff] }) == .undecodable)
        #expect(fault([]) == .truncated)
    }

    @Test(
        "times at the ends of their range saturate",
        arguments: [.min, .min + 1, -1, 0, 1, .max - 1, .max] as [Int64],
        [.min, -1, 0, 1, .max] as [Int64]
    )
    func extremeTimes(milliseconds: Int64, offset: Int64) throws {
        let bytes = try envelope { ($0.freshUntil, $0.staleUntil) = (milliseconds, milliseconds) }
        let entry = try level.entry(of: bytes, names, .none, clockOffset: offset)
        let (exact, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        if overflow {
            #expect(entry.freshUntil == (milliseconds < 0 ? .distantPast : .distantFuture))
        } else if offset != .min {
            #expect(entry.freshUntil == MonotonicInstant(nanoseconds: exact).advanced(byNanoseconds: -offset))
        }
        #expect(entry.staleUntil >= entry.freshUntil)
    }

    @Test("a moment keeps its millisecond on its way to the server's clock and back")
    func clockRoundTrip() {
        for nanoseconds in [0, 1_000_000, 5_000_000_000_000] as [Int64] {
            for offset in [0, 1_700_000_000_000_000_000, -5_000_000] as [Int64] {
                let instant = MonotonicInstant(nanoseconds: nanoseconds)
                let milliseconds = instant.serverMilliseconds(offset: offset)
                #expect(MonotonicInstant(serverMilliseconds: milliseconds, offset: offset) == instant)
            }
        }
        #expect(MonotonicInstant.distantFuture.serverMilliseconds(offset: 5) == .max)
        #expect(MonotonicInstant(serverMilliseconds: .max, offset: 5) == .distantFuture)
    }
}
