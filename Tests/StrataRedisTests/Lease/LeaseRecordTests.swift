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
            case .held(_, let holder) = LeaseRecord(Array("T0123456789abcdef\(long)".utf8))
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
