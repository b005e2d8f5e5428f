import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What instances tell each other of tags")
struct TagEventTests {
    private func message(_ text: String, _ names: [TagName] = []) -> [UInt8] {
        Array(text.utf8) + TagEvent.payload(of: names)
    }

    @Test("tags, clears and too many tags")
    func messages() {
        let names = ["", "a:b", "\0", String(repeating: "x", count: 1_000), "é"].map { TagName($0) }
        #expect(
            TagEvent(message("t7:9:", names)).map { [$0.before, $0.number] } == [7, 9]
        )
        #expect(TagEvent(message("t7:9:", names))?.scope == .tags(names))
        #expect(TagEvent(message("t0:9:"))?.scope == .unknownTags)
        #expect(TagEvent(message("c7:1800000000000000:"))?.scope == .everything)
        // No instance sends as much.
        let much = message("t7:9:") + Array(repeating: [1, 0, 61], count: TagEvent.longestPayload).joined()
        #expect(TagEvent(much)?.scope == .unknownTags)
        #expect(TagEvent.payload(of: (0..<1_000).map { TagName("a tag of some length: \($0)") }).isEmpty)
    }

    @Test("of another database than 0, which the message names, and no instance takes for a tag")
    func databases() {
        let names = ["a", "é"].map { TagName($0) }
        let many = (0..<1_000).map { TagName("a tag of some length: \($0)") }
        for database in [0, 1, 15, 123_456_789] {
            func message(_ text: String, _ names: [TagName] = []) -> [UInt8] {
                Array(text.utf8) + TagEvent.payload(of: names, database: database)
            }
            for bytes in [message("t7:9:", names), message("c7:9:"), message("t7:9:", many)] where !bytes.isEmpty {
                #expect(TagEvent.database(of: bytes) == (bytes.count == 5 ? 0 : database))
            }
            #expect(TagEvent(message("t7:9:", names))?.scope == .tags(names))
            #expect(TagEvent(message("t7:9:", many))?.scope == .unknownTags)
            #expect(TagEvent(message("c7:9:"))?.scope == .everything)
        }
    }

    @Test(
        "what is no message is none",
        arguments: [
            "", "t", "t:", "t::", "t7:9", "t9:7:", "t7:7:", "t-1:7:", "t 1:7:", "t1:7.0:", "t1:8000000000000001:",
            "t1:99999999999999999999999:", "x1:2:", "t1:2:\u{2}", "t1:2:\u{1}\0x", "t1:2:\u{ff}\u{ff}", "t1:2:\0\0",
        ]
    )
    func hostile(text: String) {
        #expect(TagEvent(Array(text.utf8)) == nil)
    }

    @Test("random bytes are no message and crash nothing")
    func random() {
        var random = SplitMix64.announced()
        for _ in 0..<10_000 {
            let head = Array("tc17:0".utf8)
            let bytes = (0..<Int.random(in: 0..<40, using: &random))
                .map { _ in
                    Bool.random(using: &random)
                        ? head.randomElement(using: &random)! : UInt8.random(in: 0...255, using: &random)
                }
            if let event = TagEvent(bytes) { #expect(event.before < event.number) }
        }
    }

    @Test("numbers are decimal, and not above what a double holds")
    func numbers() {
        #expect(TagMarks.number("0".utf8) == 0)
        #expect(TagMarks.number("8000000000000000".utf8) == TagMarks.highestNumber)
        for text in ["", "+1", "1e3", "0x1", "nan", "8000000000000001", "00000000000000001"] {
            #expect(TagMarks.number(text.utf8) == nil, "\(text)")
        }
    }
}
