import Strata
import Testing

@testable import StrataRedis

@Suite("What lies under a lease key")
struct LeaseRecordTests {
    @Test("a record comes back as it was written, whatever the holder's name")
    func roundTrip() throws {
        for holder in ["host/1", "", "Ünïcode:F"] {
            let record = LeaseRecord.new(holder: holder)
            #expect(LeaseRecord(record.bytes) == record)
        }
        let failed = LeaseRecord.failed(attempts: 3, message: "a: b")
        #expect(LeaseRecord(failed.bytes) == failed)
        #expect(LeaseRecord([]) == nil && LeaseRecord(Array("T short".utf8)) == nil)
    }

    /// As `traceparent` is written.
    private static let traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test("a traced read's span comes back, whatever the holder's name, also one that is cut")
    func traced() throws {
        let traceParent = try #require(TraceParent(Self.traceParent.utf8))
        for holder in ["host/1", "", "a b ", Self.traceParent, String(repeating: "x", count: 1_000)] {
            let record = LeaseRecord.new(holder: holder, traceParent: traceParent)
            guard case .held(let token, let name, let span) = try #require(LeaseRecord(record.bytes)) else {
                Issue.record("no lease")
                return
            }
            #expect(record.bytes.dropFirst().starts(with: token))
            #expect(name == String(holder.prefix(200)) && span == traceParent)
            // Scripts look at no record of 512 bytes or more.
            #expect(record.bytes.count < 512)
        }
    }

    @Test("a release that knows of no traces reads the lease of one that does as one held, under a longer name")
    func oldReader() throws {
        let traceParent = try #require(TraceParent(Self.traceParent.utf8))
        let bytes = LeaseRecord.new(holder: "host/1", traceParent: traceParent).bytes
        // What such a release does, to the letter.
        let rest = bytes.dropFirst()
        #expect(bytes.first == UInt8(ascii: "T") && rest.count >= 16)
        #expect(String(decoding: rest.dropFirst(16).prefix(200), as: UTF8.self) == "host/1 \(Self.traceParent)")
        // And the other way round.
        let token = Array(rest.prefix(16))
        #expect(LeaseRecord([UInt8(ascii: "T")] + token + "host/1".utf8) == .held(token: token, holder: "host/1"))
    }

    @Test("what is almost a span is the end of a name")
    func almostTraced() {
        let token = Array("0123456789abcdef".utf8)
        for text in [
            Self.traceParent, "host\(Self.traceParent)", "host \(Self.traceParent) ",
            "host \(Self.traceParent.uppercased())",
        ] {
            #expect(LeaseRecord([UInt8(ascii: "T")] + token + text.utf8) == .held(token: token, holder: text))
        }
        let short = Array(" \(Self.traceParent)".utf8)
        guard case .held(_, "", .some) = LeaseRecord([UInt8(ascii: "T")] + token + short) else {
            Issue.record("a span behind an empty name is not read")
            return
        }
    }

    @Test("what others have written is bounded: numbers and texts")
    func foreign() throws {
        func attempts(_ text: String) -> Int? {
            guard case .failed(let attempts, _) = LeaseRecord(Array(text.utf8)) else { return nil }
            return attempts
        }
        #expect(attempts("F7:x") == 7)
        #expect(attempts("F9223372036854775807:x") == 1_000_000)
        #expect(attempts("F99999999999999999999999999:x") == 1_000_000)
        for text in ["F-9223372036854775808:x", "F:x", "F1", "F+1:x", "F 1:x", "F1.5:x"] {
            #expect(attempts(text) == nil)
        }
        let long = String(repeating: "x", count: 1_000)
        guard case .failed(_, let message) = LeaseRecord(Array("F1:\(long)".utf8)),
            case .held(_, let holder, _) = LeaseRecord(Array("T0123456789abcdef\(long)".utf8))
        else {
            Issue.record("no records")
            return
        }
        #expect(message.count == 200 && holder.count == 200)
    }

    @Test("no two leases have a token in common, nor a half of one, also of one holder")
    func tokens() {
        let tokens = (0..<1000).map { _ in Array(LeaseRecord.new(holder: "").bytes.dropFirst()) }
        #expect(tokens.allSatisfy { $0.count == 16 })
        #expect(Set(tokens.flatMap { [$0.prefix(8), $0.suffix(8)] }).count == 2000)
    }
}
