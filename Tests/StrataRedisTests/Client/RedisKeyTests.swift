import Foundation
import Testing

@testable import StrataRedis

@Suite("Keys and patterns")
struct RedisKeyTests {
    @Test("a key is bytes; printing it is safe")
    func key() {
        #expect(RedisKey("é").bytes == [0xc3, 0xa9])
        #expect(("literal" as RedisKey).bytes == Array("literal".utf8))
        #expect(RedisKey(Data([0x61, 0xff])) == RedisKey([0x61, 0xff]))
        #expect(RedisKey("e\u{301}") != RedisKey("\u{e9}"))
        #expect(RedisKey([0x61, 0x1b, 0xff]).description == #"a\x1b\xff"#)
    }

    /// The glob matcher of Redis for patterns without classes: `*`, `?`, `\` before a literal byte.
    private func matches(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        switch first {
        case UInt8(ascii: "*"):
            return (text.startIndex...text.endIndex).contains { matches(pattern.dropFirst(), text[$0...]) }
        case UInt8(ascii: "?"): return !text.isEmpty && matches(pattern.dropFirst(), text.dropFirst())
        case UInt8(ascii: "["): return false
        case UInt8(ascii: "\\") where pattern.count >= 2:
            return text.first == pattern.dropFirst().first && matches(pattern.dropFirst(2), text.dropFirst())
        default: return text.first == first && matches(pattern.dropFirst(), text.dropFirst())
        }
    }

    @Test("an escaped pattern matches its own bytes and no others")
    func literal() {
        let names = [
            "", "a", "*", "?", "a*", "a?", "[a]", "[^a]", "\\", "\\*", "a-z", "{x}", "\0", "a\nb", "ab", "abc", "**",
        ]
        for name in names {
            let pattern = RedisGlob.literal(Array(name.utf8))
            for other in names {
                #expect(matches(pattern[...], Array(other.utf8)[...]) == (name == other), "\(name) and \(other)")
                let prefix = RedisGlob.prefix(Array(name.utf8))
                #expect(
                    matches(prefix[...], Array(other.utf8)[...]) == other.hasPrefix(name),
                    "\(name) before \(other)"
                )
            }
        }
        #expect(RedisGlob.literal([0xff, 0x2a]) == [0xff, 0x5c, 0x2a])
    }
}
