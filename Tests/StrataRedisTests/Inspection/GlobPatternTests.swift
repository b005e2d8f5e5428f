import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Glob patterns", .timeLimit(.minutes(5)))
struct GlobPatternTests {
    @Test(
        "match as Redis' do",
        arguments: [
            ("", "", true), ("", "a", false), ("*", "", true), ("*", "anything", true), ("a*", "abc", true),
            ("*c", "abc", true), ("a*c", "abcabc", true), ("a*c", "abcab", false), ("a?c", "abc", true),
            ("a?c", "ac", false), ("?", "é", false), ("??", "é", true), ("[abc]x", "bx", true), ("[abc]x", "dx", false),
            ("[^abc]x", "dx", true), ("[^abc]x", "ax", false), ("[a-c]", "b", true), ("[c-a]", "b", true),
            ("[a-c]", "d", false), ("[\\]]", "]", true), ("[]", "a", false), ("[^]", "a", true), ("\\*", "*", true),
            ("\\*", "a", false), ("a\\[b", "a[b", true), ("user:*:name", "user:42:name", true),
            ("**a**", "xax", true), ("*a*b*c*", "1a2b3c4", true), ("*a*b*c*", "1a2c3b4", false), ("A", "a", false),
        ] as [(String, String, Bool)]
    )
    func table(pattern: String, text: String, expected: Bool) throws {
        let glob = try #require(GlobPattern(Array(pattern.utf8)))
        #expect(glob.matches(Array(text.utf8)) == expected)
    }

    @Test(
        "that end inside a set or behind a backslash are refused",
        arguments: ["[", "[a", "[^", "a\\", "[a\\", "x[a-"]
    )
    func malformed(pattern: String) {
        #expect(GlobPattern(Array(pattern.utf8)) == nil)
    }

    @Test(
        "know what every match begins with",
        arguments: [("", ""), ("abc", "abc"), ("ab*c", "ab"), ("a\\*b?", "a*b"), ("[a]b", ""), ("*", "")]
    )
    func literalPrefix(pattern: String, prefix: String) throws {
        let glob = try #require(GlobPattern(Array(pattern.utf8)))
        #expect(glob.literalPrefix == Array(prefix.utf8))
    }

    @Test("take no exponential time")
    func manyStars() throws {
        let glob = try #require(GlobPattern(Array((String(repeating: "*a", count: 200) + "b").utf8)))
        #expect(!glob.matches(Array(repeating: UInt8(ascii: "a"), count: 5000)))
    }

    @Test("agree with a server about random patterns")
    func asTheServer() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed: \(seed)")
        var random = SplitMix64(seed: seed)
        try await InspectedCache.with { cache in
            let texts = Set((0..<200).map { _ in Self.text(of: "abc:", upTo: 6, &random) })
            let prefix = "\(cache.prefix):"
            for text in texts { try await cache.redis.set(RedisKey(prefix + text), [1]) }
            for _ in 0..<150 {
                let pattern = Self.pattern(&random)
                let glob = try #require(GlobPattern(Array(pattern.utf8)), "seed \(seed): \(pattern)")
                let found = try await Self.scan(
                    cache.redis,
                    RedisGlob.literal(Array(prefix.utf8)) + Array(pattern.utf8)
                )
                let own = texts.filter { glob.matches(Array($0.utf8)) }
                #expect(found == Set(own.map { prefix + $0 }), "seed \(seed): \(pattern)")
            }
        }
    }

    private static func scan(_ redis: RedisClient, _ pattern: [UInt8]) async throws -> Set<String> {
        var found: Set<String> = []
        var cursor: UInt64 = 0
        repeat {
            let (next, keys) = try await redis.scan(from: cursor, matching: pattern)
            found.formUnion(keys.map(\.description))
            cursor = next
        } while cursor != 0
        return found
    }

    private static func text(of letters: String, upTo limit: Int, _ random: inout SplitMix64) -> String {
        let letters = Array(letters)
        return String(
            (0..<Int.random(in: 1...limit, using: &random)).map { _ in letters.randomElement(using: &random)! }
        )
    }

    private static func pattern(_ random: inout SplitMix64) -> String {
        let pieces = ["a", "b", "c", ":", "*", "*", "?", "[ab]", "[^ab]", "[a-c]", "[b-:]", "\\a", "\\*", "[^a-b]"]
        return (0..<Int.random(in: 1...5, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined()
    }
}
