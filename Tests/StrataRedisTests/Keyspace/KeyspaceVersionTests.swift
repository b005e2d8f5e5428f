import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Versions of keyspaces")
struct KeyspaceVersionTests {
    @Test("without a version, the keys are as they always were")
    func plain() throws {
        #expect(Keyspace("articles", version: 0) == Keyspace("articles"))
        #expect(Keyspace("articles", version: 0, prefix: "shop").names(for: [49]).value == "shop:articles:v:{1}")
        let versions = try KeyspaceVersions([.init("articles"), .init("authors", version: 0, dependsOn: [])])
        #expect(versions["articles"] == "articles")
        #expect(versions["not declared"] == "not declared")
    }

    @Test("a version is part of the name, the same in every process and release")
    func stable() {
        let authors = Keyspace("authors", version: 2)
        let articles = Keyspace("articles", version: 3, dependsOn: [authors, "topics"])
        #expect(authors.description == "strata:authors@2.d4735e3a265e16ee")
        #expect(articles.description == "strata:articles@3.0ac19cdbf5be5b7d")
        #expect(Keyspace("a", version: .min).name.hasPrefix("a@-9223372036854775808."))
    }

    @Test("neither order nor repetition of dependencies matters")
    func order() {
        let (one, two) = (Keyspace("one", version: 1), Keyspace("two"))
        let first = Keyspace("k", version: 1, dependsOn: [one, two])
        #expect(first == Keyspace("k", version: 1, dependsOn: [two, one, two]))
        #expect(first != Keyspace("k", version: 1, dependsOn: [one]))
        #expect(first != Keyspace("k", version: 2, dependsOn: [one, two]))
        #expect(first != Keyspace("k", version: 1, dependsOn: [one, Keyspace("two", prefix: "other")]))
    }

    @Test("bumping one changes all that depend on it, directly or not, and nothing else")
    func bump() throws {
        func keyspaces(authors: Int) throws -> KeyspaceVersions {
            try KeyspaceVersions([
                .init("pages", version: 1, dependsOn: ["articles", "layout"]),
                .init("articles", version: 3, dependsOn: ["authors"]),
                .init("authors", version: authors),
                .init("layout", version: 9),
            ])
        }
        let (before, after) = (try keyspaces(authors: 2), try keyspaces(authors: 3))
        for name in ["pages", "articles", "authors"] { #expect(before[name] != after[name]) }
        #expect(before["layout"] == after["layout"])
        #expect(before["articles"] == Keyspace("articles", version: 3, dependsOn: [Keyspace("authors", version: 2)]))
    }

    @Test(
        "circles are refused, also of one and behind others; a name is declared once",
        arguments: [
            [("a", ["a"])], [("a", ["b"]), ("b", ["a"])], [("x", []), ("a", ["b"]), ("b", ["c"]), ("c", ["a", "x"])],
            [("a", []), ("a", [])], [("caf\u{e9}", []), ("cafe\u{301}", [])],
        ] as [[(String, [String])]]
    )
    func refused(declared: [(String, [String])]) {
        let error = #expect(throws: CacheError.self) {
            try KeyspaceVersions(declared.map { .init($0.0, version: 1, dependsOn: $0.1) })
        }
        #expect(error?.code == .invalidKeyspaces)
    }

    @Test("a chain of a hundred thousand is no trap")
    func deep() throws {
        let count = 100_000
        let versions = try KeyspaceVersions(
            (0..<count).map { .init("\($0)", version: 1, dependsOn: $0 + 1 < count ? ["\($0 + 1)"] : []) }
        )
        #expect(versions["0"].name.hasPrefix("0@1."))
    }

    @Test("levels of two versions do not see each other's entries")
    func levels() async throws {
        let redis = try await TestServer.client()
        let name = TestServer.uniqueName()
        let old = RedisLevel<String, String>(
            redis,
            keyspace: Keyspace(name, version: 1),
            codec: .text,
            coherence: .none
        )
        let new = RedisLevel<String, String>(
            redis,
            keyspace: Keyspace(name, version: 2),
            codec: .text,
            coherence: .none
        )
        try await old.set("old", for: "k")
        #expect(try await new.get("k") == nil)
        try await new.set("new", for: "k")
        #expect(try await old.get("k") == "old")
        for level in [old, new] { _ = try await KeyspaceInspector(redis, level.keyspace).clear() }
    }
}
