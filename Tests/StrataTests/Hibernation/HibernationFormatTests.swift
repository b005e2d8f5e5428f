import Foundation
import StrataTestSupport
import Testing

@testable import Strata

@Suite("The file of a hibernated memory, as its page has it")
struct HibernationFormatTests {
    private struct Field {
        let offset: Int
        let size: Int?
        let text: String
    }

    /// The fields of a section's table.
    private func fields(_ section: String) throws -> [Field] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        let page = try String(
            contentsOf: folder.appendingPathComponent("docs/internals/hibernation-file.md"),
            encoding: .utf8
        )
        let start = try #require(page.range(of: "## \(section)\n")).upperBound
        let end = page.range(of: "\n## ", range: start..<page.endIndex)?.lowerBound ?? page.endIndex
        return page[start..<end].split(separator: "\n")
            .compactMap { line in
                let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                    .map { $0.trimmingCharacters(in: .whitespaces) }
                guard cells.count > 4, let offset = Int(cells[1]) else { return nil }
                return Field(offset: offset, size: Int(cells[2]), text: cells[3])
            }
    }

    /// Whether fields follow each other without gaps.
    private func expectGapless(_ fields: [Field]) {
        for (one, next) in zip(fields, fields.dropFirst()) { #expect(one.offset + (one.size ?? 0) == next.offset) }
    }

    @Test("the header has the fields of the table, each in its place")
    func header() throws {
        let fields = try fields("Header")
        expectGapless(fields)
        let last = try #require(fields.last)
        #expect(last.offset + (last.size ?? 0) == HibernationHeader.size && fields.count == 13)
        let name = Array("name".utf8)
        let header = HibernationHeader(Codec<String>.text.schema(7), name: name, planned: 9, writtenAt: 11)
        let bytes = header.bytes
        #expect(bytes.count == HibernationHeader.size && Array(bytes[..<4]) == [0xd7, 0x53, 0x54, 0x48])
        #expect(fields[0].text.contains("d7 53 54 48") && bytes[4] == HibernationHeader.format && bytes[5] == 2)
        #expect(bytes.littleEndian(at: fields[5].offset, as: UInt32.self) == 7)
        #expect(bytes.littleEndian(at: fields[7].offset, as: UInt64.self) == header.identity)
        #expect(bytes.littleEndian(at: fields[8].offset, as: Int64.self) == 11)
        #expect(bytes.littleEndian(at: fields[9].offset, as: UInt64.self) == XXH64.hash(name))
        #expect(bytes.littleEndian(at: fields[10].offset, as: UInt64.self) == 9)
        #expect(try HibernationHeader(bytes) == header)
    }

    @Test("a record and the end have the fields of theirs")
    func record() throws {
        let fields = try fields("Record")
        expectGapless(Array(fields.dropLast()))
        let record = HibernationRecord(
            isAbsence: true,
            frequency: 6,
            version: EntryVersion(high: 1, low: 2),
            freshFor: 3,
            revalidateFor: 4,
            staleFor: 5,
            age: 7,
            fetchDuration: 8,
            key: Array("key".utf8),
            tags: ["t"],
            payload: [9]
        )
        let bytes = try #require(record.framed(13))
        func number(_ field: Int) -> Int64 { bytes.littleEndian(at: fields[field].offset, as: Int64.self) }
        #expect(
            bytes.littleEndian(at: fields[0].offset, as: UInt32.self)
                == UInt32(bytes.count - HibernationRecord.frameSize)
        )
        #expect(fields[0].text.contains("\(HibernationRecord.longest) at most"))
        #expect(bytes.littleEndian(at: fields[1].offset, as: UInt64.self) == XXH64.hash(Array(bytes[12...]), seed: 13))
        #expect(bytes[fields[2].offset] == 1 && bytes[fields[3].offset] == 6)
        #expect(Array(bytes[fields[4].offset...].prefix(16)) == record.version.bytes)
        #expect([number(5), number(6), number(7), number(8)] == [3, 4, 5, 7])
        #expect(bytes.littleEndian(at: fields[9].offset, as: UInt32.self) == 8)
        #expect(bytes.littleEndian(at: fields[10].offset, as: UInt32.self) == 3)
        #expect(bytes.littleEndian(at: fields[11].offset, as: UInt32.self) == 3)
        #expect(Array(bytes[fields[12].offset...]) == Array("key".utf8) + [1, 0] + Array("t".utf8) + [9])

        let end = try self.fields("End")
        expectGapless(end)
        let written = HibernationRecord.end(after: 77, 13)
        #expect(written.count == HibernationRecord.endSize && end.map(\.offset) == [0, 4, 12])
        #expect(written.littleEndian(at: 0, as: UInt32.self) == .max)
        #expect(written.littleEndian(at: end[2].offset, as: UInt64.self) == 77)
    }

    @Test("a cache is named without what differs between two builds")
    func names() throws {
        struct Local: Codable, Sendable {}
        let form = try HibernationForm<String, Local>(below: Source { _ in nil }, codec: .cbor)
        let name = String(decoding: form.name, as: UTF8.self)
        #expect(name.hasPrefix("Swift.String ") && name.hasSuffix(".Local") && !name.contains("unknown context"))
    }
}
