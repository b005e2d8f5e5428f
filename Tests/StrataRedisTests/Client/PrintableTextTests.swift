import Strata
import Testing

@testable import StrataRedis

@Suite("Printable text")
struct PrintableTextTests {
    @Test(
        "ordinary text stays as it is",
        arguments: ["", "product:42", "a b", "é", "日本語", "😀", "{%#}*?[]", "\"'$`"]
    )
    func ordinary(text: String) {
        #expect(PrintableText.escape(Array(text.utf8)) == text)
    }

    static let special: [(String, String)] = [
        ("\\", #"\\"#), ("\\x41", #"\\x41"#), ("\0", #"\x00"#), ("\r\n", #"\x0d\x0a"#), ("\t", #"\x09"#),
        ("\u{7f}", #"\x7f"#),
        ("\u{1b}[31mred\u{1b}[0m", #"\x1b[31mred\x1b[0m"#), ("\u{1b}]0;title\u{7}", #"\x1b]0;title\x07"#),
        ("\u{80}", #"\u{80}"#), ("\u{9b}31m", #"\u{9b}31m"#), ("\u{85}", #"\u{85}"#), ("\u{ad}", #"\u{ad}"#),
        ("\u{202e}", #"\u{202e}"#), ("\u{202a}", #"\u{202a}"#), ("\u{2066}", #"\u{2066}"#), ("\u{2069}", #"\u{2069}"#),
        ("\u{200e}", #"\u{200e}"#), ("\u{200f}", #"\u{200f}"#), ("\u{61c}", #"\u{61c}"#), ("\u{200b}", #"\u{200b}"#),
        ("\u{feff}", #"\u{feff}"#), ("\u{2028}", #"\u{2028}"#), ("\u{2029}", #"\u{2029}"#), ("\u{e000}", #"\u{e000}"#),
        ("\u{e0041}", #"\u{e0041}"#), ("\u{ffff}", #"\u{ffff}"#), ("\u{10ffff}", #"\u{10ffff}"#),
    ]

    @Test("what acts on a terminal, hides or misleads is escaped", arguments: special)
    func escaped(text: String, expected: String) {
        #expect(PrintableText.escape(Array(text.utf8)) == expected)
        #expect(PrintableText.escape(Array("a\(text)b".utf8)) == "a\(expected)b")
    }

    static let broken: [([UInt8], String)] = [
        ([0xff], #"\xff"#), ([0x61, 0xff, 0x62], #"a\xffb"#), ([0xc3], #"\xc3"#), ([0xc3, 0x28], #"\xc3("#),
        ([0xe2, 0x82], #"\xe2\x82"#), ([0xe2, 0x82, 0x41], #"\xe2\x82A"#), ([0xf0, 0x9f, 0x98], #"\xf0\x9f\x98"#),
        ([0xc0, 0x80], #"\xc0\x80"#), ([0xed, 0xa0, 0x80], #"\xed\xa0\x80"#),
        ([0xf4, 0x90, 0x80, 0x80], #"\xf4\x90\x80\x80"#),
        ([0x80], #"\x80"#), ([0x80, 0xc3, 0xa9], #"\x80é"#), ([0xe2, 0x82, 0xe2, 0x82, 0xac], #"\xe2\x82€"#),
    ]

    @Test("every byte of ill-formed UTF-8 is shown", arguments: broken)
    func illFormed(bytes: [UInt8], expected: String) {
        #expect(PrintableText.escape(bytes) == expected)
    }

    /// Takes the escape back.
    private func unescape(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\" else {
                bytes += Array(String(scalar).utf8)
                continue
            }
            switch rest.popFirst() {
            case "\\": bytes.append(0x5c)
            case "x":
                guard let byte = UInt8(String(rest.prefix(2)), radix: 16), rest.count >= 2 else { return nil }
                bytes.append(byte)
                rest = rest.dropFirst(2)
            case "u":
                guard let close = rest.firstIndex(of: "}"), rest.first == "{",
                    let value = UInt32(String(rest[..<close].dropFirst()), radix: 16),
                    let scalar = Unicode.Scalar(value)
                else { return nil }
                bytes += Array(String(scalar).utf8)
                rest = rest[rest.index(after: close)...]
            default: return nil
            }
        }
        return bytes
    }

    @Test("the escape can be taken back, so no two names look alike by it")
    func injective() {
        var random = SplitMix64.announced()
        let pieces: [[UInt8]] =
            Self.special.map { Array($0.0.utf8) } + Self.broken.map { $0.0 }
            + ["\\x41", "\\u{41}", "\\\\", "x", "u{", "}", "é", "e\u{301}", "👩‍👩‍👧"].map { Array($0.utf8) }
        for _ in 0..<5_000 {
            var bytes = random.bytes(.random(in: 0...6, using: &random))
            for _ in 0..<Int.random(in: 0...6, using: &random) { bytes += pieces.randomElement(using: &random) ?? [] }
            let text = PrintableText.escape(bytes)
            #expect(unescape(text) == bytes, "\(bytes)")
            let isPrintable = text.unicodeScalars.allSatisfy { scalar in
                scalar.value >= 0x20 && scalar.value != 0x7f && scalar.properties.generalCategory != .format
                    && scalar.properties.generalCategory != .control
            }
            #expect(isPrintable, "\(bytes)")
        }
    }

    @Test("a megabyte of ill-formed bytes is escaped in one go")
    func long() {
        #expect(PrintableText.escape([UInt8](repeating: 0xe2, count: 1 << 18)).utf8.count == 4 << 18)
    }
}
