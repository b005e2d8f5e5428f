import Foundation
import Strata
import StrataRedis
import Testing

@testable import stratactl

@Suite("stratactl: layout of its output")
struct OutputTests {
    @Test("columns are as wide as a terminal shows them")
    func table() {
        var table = Table(.left("KEY"), .right("N"), .left("END"))
        table.rows = [["a", "1", "x"], ["日本", "200", "y"], ["e\u{301}", "", "z"], ["🙂👨‍👩‍👧", "3", ""]]
        #expect(
            table.lines == [
                "KEY     N  END", "a       1  x", "日本  200  y", "e\u{301}          z", "🙂👨‍👩‍👧    3  ",
            ]
        )
        #expect(
            Set(table.lines.dropLast().map { DisplayWidth.of(String($0.dropLast($0.hasSuffix("END") ? 3 : 1))) }) == [
                11
            ]
        )
    }

    @Test(
        "widths",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("한", 2), ("ｆ", 2), ("🙂", 2), ("🇩🇪", 2),
            ("❤\u{fe0f}", 2), ("❤", 1), ("…", 1), ("─", 1),
        ]
    )
    func widths(text: String, width: Int) {
        #expect(DisplayWidth.of(text) == width)
    }

    @Test("points of time are those of the Gregorian calendar, with nothing outside its four digits")
    func timestamps() throws {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let seed = UInt64.random(in: 0 ... .max)
        print("seed: \(seed)")
        var random = SplitMix64(seed: seed)
        // From 1583 on: before, the formatter takes the Julian calendar.
        for _ in 0..<2000 {
            let milliseconds = Int64.random(in: -12_200_000_000_000...253_402_300_799_999, using: &random)
            let date = try #require(Timestamp.text(milliseconds).flatMap { formatter.date(from: $0) })
            #expect(Int64((date.timeIntervalSince1970 * 1000).rounded()) == milliseconds, "seed \(seed)")
        }
        #expect(Timestamp.text(0) == "1970-01-01T00:00:00.000Z")
        #expect(Timestamp.text(-1) == "1969-12-31T23:59:59.999Z")
        #expect(Timestamp.text(951_782_400_000) == "2000-02-29T00:00:00.000Z")
        #expect(Timestamp.text(-62_135_596_800_000) == "0001-01-01T00:00:00.000Z")
        #expect(Timestamp.text(253_402_300_799_999) == "9999-12-31T23:59:59.999Z")
        for milliseconds in [Int64.min, -62_135_596_800_001, 253_402_300_800_000, .max] {
            #expect(Timestamp.text(milliseconds) == nil)
        }
    }

    @Test(
        "spans of time have the unit that fits",
        arguments: [
            (0, "0 µs"), (0.000_085, "85 µs"), (0.0012, "1.2 ms"), (0.012, "12 ms"), (0.35, "350 ms"), (1, "1 s"),
            (1.54, "1.5 s"), (65, "1 min 5 s"), (120, "2 min"), (3600 * 3 + 20 * 60, "3 h 20 min"),
            (86_400 * 5 + 3 * 3600, "5 d 3 h"), (1e18, "more than 1000 years"), (-5, "0 µs"), (-1e30, "0 µs"),
        ] as [(Double, String)]
    )
    func spans(seconds: Double, text: String) {
        #expect(TimeSpan.text(seconds: seconds) == text)
    }

    @Test("JSON is indented token by token")
    func json() {
        func lines(_ text: String) -> [String] { JSONIndentation.lines(Array(text.utf8)) }
        #expect(
            lines(#"{"a":[1,{"b":null}],"c":"x,{\"}","d":{},"e":[ ]}"#) == [
                "{", #"  "a": ["#, "    1,", "    {", #"      "b": null"#, "    }", "  ],", #"  "c": "x,{\"}","#,
                #"  "d": {},"#, #"  "e": []"#, "}",
            ]
        )
        #expect(lines("12345678901234567890.10") == ["12345678901234567890.10"])
        #expect(lines("[1,\"ab") == ["[", "  1,", "  \"ab"])
        #expect(lines("") == [])
        #expect(lines("\"\u{1b}\u{9b}\n\u{202e}\u{1f600}\"") == ["\"\\u001b\\u009b\\u000a\\u202e😀\""])
        let deep = lines(String(repeating: "[", count: 10_000))
        #expect(deep.count == 10_000 && deep.allSatisfy { $0.count <= 65 })
    }

    @Test("what acts on a terminal is escaped, in JSON as JSON does")
    func controls() {
        #expect(ControlCharacters.escaped("a\u{1b}[0m\u{9b}\n\\") == "a\\u{1b}[0m\\u{9b}\\u{a}\\")
        #expect(ControlCharacters.escapedJSON("\"\u{7f}\u{e0001}\"\n") == "\"\\u007f\\udb40\\udc01\"\n")
        #expect(ControlCharacters.escaped("Häkelnadel 日本 🙂") == "Häkelnadel 日本 🙂")
    }

    @Test("a dump has 16 bytes a line")
    func dump() {
        #expect(Hexadecimal.dump([]) == [])
        #expect(
            Hexadecimal.dump(Array(0..<17)) == [
                "00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  |................|",
                "00000010  10                                                |.|",
            ]
        )
    }

    @Test(
        "sizes",
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (20 << 20, "20 MiB"),
            (Int.max, "8388608 TiB"),
        ]
    )
    func sizes(bytes: Int, text: String) {
        #expect(Quantity.bytes(bytes) == text)
    }

    @Test(
        "numbers of codecs, compressions and protections have the names that docs/internals/wire-format.md gives them",
        arguments: ["Codecs", "Compressions", "Protections"]
    )
    func names(section: String) throws {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        let page = try String(contentsOf: root.appending(path: "docs/internals/wire-format.md"), encoding: .utf8)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "### \(section)"))
        var documented: [UInt8: String] = [:]
        for line in lines[(start + 1)...].prefix(while: { !$0.hasPrefix("#") }) {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            if cells.count == 2, let number = UInt8(cells[0]) { documented[number] = cells[1] }
        }
        #expect(documented.count >= 3)
        for number in UInt8.min ... .max {
            let name = documented[number]
            let shown = name.map { $0 == "none" ? $0 : "\(number) (\($0))" } ?? "\(number) (unknown here)"
            switch section {
            case "Codecs": #expect(PayloadText.codecName(number) == name)
            case "Compressions": #expect(PayloadText.compressionName(number) == shown)
            default: #expect(PayloadText.protectionName(number) == shown)
            }
        }
    }
}
