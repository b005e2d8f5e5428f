import Foundation
import Strata
import Testing

@testable import StrataRedis

@Suite("Types as keys")
struct KeyRepresentableTests {
    private enum Colour: String, KeyRepresentable { case red, green }
    private enum Level: Int, KeyRepresentable { case low = -1, high = 1 }
    private struct Identifier: RawRepresentable, KeyRepresentable { var rawValue: UUID }

    @Test(
        "texts that Swift calls equal have the same bytes: those of the composed form",
        arguments: [
            ("e\u{301}", "\u{e9}"), ("A\u{30a}", "\u{c5}"), ("\u{212b}", "\u{c5}"), ("\u{1100}\u{1161}", "\u{ac00}"),
            ("\u{1e9b}\u{323}", "\u{1e9b}\u{323}"), ("q\u{307}\u{323}", "q\u{323}\u{307}"), ("\u{2126}", "\u{3a9}"),
            ("plain", "plain"), ("", ""), ("\0", "\0"), ("\u{fb01}", "\u{fb01}"),
        ]
    )
    func normalForm(text: String, composed: String) {
        #expect(text == composed)
        #expect(text.keyBytes == composed.keyBytes)
        #expect(text.keyBytes == Array(composed.utf8))
    }

    @Test("equal texts have equal bytes and different ones different bytes, for random text")
    func injective() {
        var random = SplitMix64.announced()
        let pieces = [
            "e", "\u{301}", "\u{e9}", "\u{323}", "\u{307}", "q", "\u{1100}", "\u{1161}", "\u{11a8}", "\u{ac00}", "😀",
            ":", "\0",
        ]
        var seen: [[UInt8]: String] = [:]
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...5, using: &random)
            let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            if let other = seen.updateValue(text, forKey: text.keyBytes) { #expect(other == text) }
            #expect(String(decoding: text.keyBytes, as: UTF8.self) == text)
        }
        #expect(Set(seen.values).count == seen.count)
    }

    @Test("numbers are decimal")
    func integers() {
        #expect(42.keyBytes == Array("42".utf8))
        #expect(Int64.min.keyBytes == Array("-9223372036854775808".utf8))
        #expect(UInt64.max.keyBytes == Array("18446744073709551615".utf8))
        #expect(Int8(-1).keyBytes == Array("-1".utf8))
        #expect(UInt8.max.keyBytes == Array("255".utf8))
        #expect(Int16(0).keyBytes == UInt32(0).keyBytes)
    }

    @Test("bytes are themselves, identifiers their text, raw values what they hold")
    func others() throws {
        #expect(([0xff, 0] as [UInt8]).keyBytes == [0xff, 0])
        let identifier = try #require(UUID(uuidString: "e621e1f8-c36c-495a-93fc-0c247a3e6e5f"))
        #expect(identifier.keyBytes == Array("E621E1F8-C36C-495A-93FC-0C247A3E6E5F".utf8))
        #expect(Identifier(rawValue: identifier).keyBytes == identifier.keyBytes)
        #expect(Colour.red.keyBytes == Array("red".utf8))
        #expect(Level.low.keyBytes == Array("-1".utf8))
    }

    @Test("joined parts are told apart by where the colons are")
    func joining() {
        #expect(KeyBytes.joining("shop", 42) == Array("shop:42".utf8))
        #expect(KeyBytes.joining("a") == Array("a".utf8))
        #expect(KeyBytes.joining("a:b", "c") == Array("a%3Ab:c".utf8))
        #expect(KeyBytes.joining("a", "b:c") == Array("a:b%3Ac".utf8))
        #expect(KeyBytes.joining("%3A", "") == Array("%253A:".utf8))
        #expect(KeyBytes.joining("", "", "") == Array("::".utf8))
        #expect(KeyBytes.joining([0xff, 0x3a] as [UInt8], Colour.red) == [0xff] + Array("%3A:red".utf8))
        // What was joined can be a part.
        #expect(KeyBytes.joining(KeyBytes.joining("a", "b"), "c") == Array("a%3Ab:c".utf8))
    }

    @Test("different parts never give the same bytes")
    func joiningIsInjective() {
        var random = SplitMix64.announced()
        let pieces = ["", ":", "%", "%3A", "%25", "a", "::", "%3", "A", "\0", "é"]
        var seen: [[UInt8]: [String]] = [:]
        for _ in 0..<20_000 {
            let parts = (0..<3)
                .map { _ in
                    (0..<Int.random(in: 0...2, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
                        .joined()
                }
            let (joined, used) =
                switch Int.random(in: 1...3, using: &random) {
                case 1: (KeyBytes.joining(parts[0]), [parts[0]])
                case 2: (KeyBytes.joining(parts[0], parts[1]), Array(parts[..<2]))
                default: (KeyBytes.joining(parts[0], parts[1], parts[2]), parts)
                }
            if let other = seen.updateValue(used, forKey: joined) { #expect(other == used) }
        }
    }
}
