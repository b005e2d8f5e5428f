import Strata
import Testing

@testable import StrataRedis

/// The same stream, cut anywhere, gives the same replies.
@Suite("Random streams of replies")
struct ReplyStreamTests {
    @Test("small replies: in one piece, byte by byte, and cut at random")
    func small() throws {
        var generator = ReplyGenerator(random: .announced())
        for round in 0..<150 {
            let (values, bytes) = generator.stream(.random(in: 1...30, using: &generator.random))
            expectSame(try ReplyReader().read(bytes), values, "round \(round), one piece")
            expectSame(try ReplyReader().read(bytes, cutAt: 1..<max(bytes.count, 1)), values, "round \(round), bytes")
            for _ in 0..<3 {
                let cuts = Self.cuts(in: bytes, &generator.random)
                expectSame(try ReplyReader().read(bytes, cutAt: cuts), values, "round \(round), cut at \(cuts)")
            }
        }
    }

    @Test("replies around the size of a slice, and beyond the size at which the reader is replaced")
    func large() throws {
        var generator = ReplyGenerator(random: .announced())
        for longest in [16 << 10, 40 << 10, 70 << 10, 3 << 20] {
            let (values, bytes) = generator.stream(longest > 1 << 20 ? 6 : 25, longestBulk: longest)
            expectSame(try ReplyReader().read(bytes), values, "bulks to \(longest), one piece")
            for _ in 0..<4 {
                let cuts = Self.cuts(in: bytes, &generator.random)
                expectSame(try ReplyReader().read(bytes, cutAt: cuts), values, "bulks to \(longest), cut at \(cuts)")
            }
        }
    }

    @Test("one reader for thousands of replies")
    func longLived() throws {
        var generator = ReplyGenerator(random: .announced())
        let reader = ReplyReader()
        for _ in 0..<100 {
            let (values, bytes) = generator.stream(40)
            expectSame(try reader.read(bytes, cutAt: Self.cuts(in: bytes, &generator.random)), values)
        }
    }

    /// Every truncation is a beginning: no fault, and no reply that is not whole.
    @Test("a stream that ends early has the replies before its end, and can be read on")
    func truncated() throws {
        var generator = ReplyGenerator(random: .announced())
        let (values, bytes) = generator.stream(12, longestBulk: 40)
        for end in 0...bytes.count {
            let reader = ReplyReader()
            let before = try reader.read(Array(bytes[..<end]))
            expectSame(before, Array(values.prefix(before.count)), "end \(end)")
            #expect(before.count < values.count || end == bytes.count)
            expectSame(try before + reader.read(Array(bytes[end...])), values, "end \(end)")
        }
    }

    private static func cuts(in bytes: [UInt8], _ random: inout SplitMix64) -> [Int] {
        let count = Int.random(in: 1...20, using: &random)
        return (0..<count).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
    }
}
