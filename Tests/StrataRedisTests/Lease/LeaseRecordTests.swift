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

    @Test("no two leases have a token in common, nor a half of one, also of one holder")
    func tokens() {
        let tokens = (0..<1000).map { _ in Array(LeaseRecord.new(holder: "").bytes.dropFirst()) }
        #expect(tokens.allSatisfy { $0.count == 16 })
        #expect(Set(tokens.flatMap { [$0.prefix(8), $0.suffix(8)] }).count == 2000)
    }
}
