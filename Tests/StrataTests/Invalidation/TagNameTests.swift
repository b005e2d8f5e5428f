import StrataTesting
import Testing

@testable import Strata

@Suite("Names of tags")
struct TagNameTests {
    @Test("texts that Swift calls equal are one tag")
    func normalForm() {
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        #expect(composed == decomposed)
        #expect(TagName(composed) == TagName(decomposed))
        #expect(TagName(composed).fingerprint() == TagName(decomposed).fingerprint())
        #expect(TagName("a") != TagName("A"))
    }

    @Test("no two different tags have one name, whatever they hold, and none looks like a name without a sign")
    func injective() {
        let digest = String(decoding: TagName(String(repeating: "x", count: 500)).bytes, as: UTF8.self)
        let tags = [
            "", "=", "#", "s", "c", "=s", "#s", "\0", "\n", "a\0b", "a:b", "{a}", "%", "*", digest,
            String(digest.dropFirst()),
            String(repeating: "x", count: 128), String(repeating: "x", count: 129), String(repeating: "x", count: 500),
            String(repeating: "x", count: 100_000), "\u{10ffff}", "👩‍👩‍👧‍👦",
        ]
        let names = tags.map { TagName($0) }
        #expect(Set(names).count == tags.count)
        for name in names {
            #expect([UInt8(ascii: "="), UInt8(ascii: "#")].contains(name.bytes.first))
            #expect(name.bytes.count <= 129)
            #expect(TagName(bytes: name.bytes) == name)
        }
        #expect(TagName(bytes: Array("s".utf8)) == nil)
        #expect(TagName(bytes: []) == nil)
        #expect(TagName(bytes: Array("#short".utf8)) == nil)
        #expect(TagName(bytes: [UInt8(ascii: "=")] + Array(repeating: 1, count: 129)) == nil)
    }

    @Test("each tag once, in their order")
    func unique() {
        #expect(TagName.unique([]) == [])
        #expect(TagName.unique(["b", "a", "b", "a", ""]) == ["b", "a", ""].map { TagName($0) })
    }

    @Test("a thousand tags are allowed, one more is not; 1 024 bytes are, one more are not")
    func limits() throws {
        try TagLimits.check((0..<1_000).map { "\($0)" })
        try TagLimits.check([String(repeating: "é", count: 512)])
        let many = #expect(throws: CacheError.self) { try TagLimits.check((0...1_000).map { "\($0)" }) }
        #expect(many?.code == .invalidTags)
        let long = #expect(throws: CacheError.self) { try TagLimits.check([String(repeating: "é", count: 512) + "e"]) }
        #expect(long?.code == .invalidTags)
        #expect(long?.message.contains("é") == false)
        try TagLimits.checkLengths((0..<5_000).map { "\($0)" })
    }
}
