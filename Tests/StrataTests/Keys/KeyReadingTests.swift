import Foundation
import Testing

@testable import Strata

@Suite("Keys that are made of their bytes")
struct KeyReadingTests {
    private enum Colour: String, KeyRepresentable { case red, blue }

    private struct Number: RawRepresentable, KeyRepresentable { var rawValue: Int }

    /// A raw value, and a form of its own.
    private struct Odd: RawRepresentable, KeyRepresentable {
        var rawValue: String
        var keyBytes: [UInt8] { Array("odd-\(rawValue)".utf8) }
    }

    private struct Pair: KeyRepresentable {
        var one: String
        var two: Int
        var keyBytes: [UInt8] { KeyBytes.joining(one, two) }
    }

    private func comesBack<Key: KeyRepresentable>(_ keys: Key...) {
        #expect(Key.isReadable)
        for key in keys { #expect(Key.reading(key.keyBytes) == key, "\(key)") }
    }

    @Test("those of the types with a form of their own, and of such a raw value, come back")
    func known() {
        comesBack("", "a b", "ä\u{301}", "\u{0}")
        comesBack(0, -7, Int.min)
        comesBack(UInt8.max)
        comesBack([] as [UInt8], [0, 255])
        comesBack(Data([1, 2]))
        comesBack(UUID())
        if let url = URL(string: "https://example.org/a?b=c") { comesBack(url) }
        comesBack(Colour.red, .blue)
        comesBack(Number(rawValue: 5))
    }

    @Test("bytes that are no key's are none, and so is a key of another form")
    func unknown() {
        #expect(Int.reading(Array("007".utf8)) == nil && Int.reading(Array("x".utf8)) == nil)
        #expect(Int.reading(Array("+7".utf8)) == nil && UInt8.reading(Array("256".utf8)) == nil)
        #expect(String.reading([0xff]) == nil && Colour.reading(Array("green".utf8)) == nil)
        #expect(UUID.reading(Array("e621e1f8-c36c-495a-93fc-0c247a3e6e5f".utf8)) == nil)
        #expect(Odd.reading(Array("odd-a".utf8)) == nil)
        #expect(!Pair.isReadable && Pair.reading(Pair(one: "a", two: 1).keyBytes) == nil)
    }
}
