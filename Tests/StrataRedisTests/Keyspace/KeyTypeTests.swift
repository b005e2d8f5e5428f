import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

#if Disk
import StrataDisk
#endif

@Suite("Types of Foundation, enumerations and pairs as keys, at a server and on a disk", .timeLimit(.minutes(5)))
struct KeyTypeTests {
    private enum Colour: String, KeyRepresentable { case red, green }
    private enum Level: UInt8, KeyRepresentable { case low = 0, high = 1 }
    private struct Account: RawRepresentable, KeyRepresentable { var rawValue: UUID }

    /// Stores a value under each key, and finds each under its own, also from another process's point of view.
    private func findsEach<Key: KeyRepresentable>(_ keys: [Key], sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let redis = try await TestServer.client()
        let keyspace = Keyspace(TestServer.uniqueName())
        func cache() -> Composed<MemoryLevel<Key, Int>, RedisLevel<Key, Int>> {
            MemoryLevel<Key, Int>(limit: .entries(100)).compose(RedisLevel(redis, keyspace: keyspace))
        }
        let (one, other) = (cache(), cache())
        for (number, key) in keys.enumerated() { try await one.set(number, for: key) }
        for (number, key) in keys.enumerated() {
            #expect(try await one.get(key) == number, sourceLocation: sourceLocation)
            #expect(try await other.get(key) == number, sourceLocation: sourceLocation)
            #expect(Key.reading(key.keyBytes) == key, sourceLocation: sourceLocation)
        }
        #expect(try await other.get(keys) == Array(keys.indices), sourceLocation: sourceLocation)
        try await one.remove(keys[0])
        #expect(try await other.lower.get(keys[0]) == nil, sourceLocation: sourceLocation)
        #expect(try await other.lower.get(keys[1]) == 1, sourceLocation: sourceLocation)
        let provider = keys.map { Provider<Int>("key types", key: .group($0, 7)) }
        let records = ProviderCache(redis, keyspace: Keyspace(TestServer.uniqueName()))
        for (number, provider) in provider.enumerated() { try await records.set(number, for: provider) }
        for (number, provider) in provider.enumerated() {
            #expect(try await records.value(of: provider) == number, sourceLocation: sourceLocation)
        }
        #if Disk
        let folder = "/tmp/strata-keys-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = DiskStore(path: folder + "/keys.sqlite")
        let disk = DiskLevel<Key, Int>(store, namespace: "keys")
        for (number, key) in keys.enumerated() { try await disk.set(number, for: key) }
        for (number, key) in keys.enumerated() {
            #expect(try await disk.get(key) == number, sourceLocation: sourceLocation)
        }
        await store.close()
        #endif
    }

    @Test("Data, also a slice of it, and bytes that are no text")
    func data() async throws {
        let whole = Data([9, 0, 255, 58, 9])
        try await findsEach([whole, whole[1...3], Data([0, 255, 58]).dropFirst(), Data([123, 125]), Data("k".utf8)])
        #expect(whole[1...3].keyBytes == [0, 255, 58] && whole[1...3] == Data([0, 255, 58]))
    }

    @Test("UUID, whatever the case it was written in")
    func identifiers() async throws {
        let text = "e621e1f8-c36c-495a-93fc-0c247a3e6e5f"
        let (lower, upper) = (UUID(uuidString: text), UUID(uuidString: text.uppercased()))
        try await findsEach([try #require(lower), UUID(), UUID()])
        #expect(lower?.keyBytes == upper?.keyBytes)
        try await findsEach([Account(rawValue: UUID()), Account(rawValue: UUID())])
    }

    @Test("URL, with query, fragment, and what is no text in it")
    func addresses() async throws {
        let texts = [
            "https://example.org/a?b=c&d=%3A", "https://example.org/a?b=c&d=:", "https://example.org/a#f",
            "https://example.org", "https://example.org/", "file:///tmp/a%20b", "urn:isbn:1",
        ]
        try await findsEach(try texts.map { try #require(URL(string: $0)) })
        // One address, however it is put together.
        let joined = URL(string: "b", relativeTo: URL(string: "https://example.org/a/"))
        #expect(joined?.keyBytes == Array("https://example.org/a/b".utf8))
    }

    @Test("enumerations with raw values")
    func enumerations() async throws {
        try await findsEach([Colour.red, .green])
        try await findsEach([Level.low, .high])
    }

    @Test("pairs, of any of these, and pairs of pairs: different ones never meet")
    func pairs() async throws {
        try await findsEach([
            KeyPair("a", "b"), KeyPair("a:b", ""), KeyPair("", "a:b"), KeyPair("a", "b:"), KeyPair("a%3Ab", ""),
            KeyPair("a%", "3Ab"), KeyPair(":", ":"), KeyPair("", ""), KeyPair("{", "}"),
        ])
        try await findsEach([KeyPair(1, 23), KeyPair(12, 3), KeyPair(-1, 0)])
        try await findsEach([KeyPair(Colour.red, UUID()), KeyPair(Colour.green, UUID())])
        try await findsEach([
            KeyPair(KeyPair("a", "b"), "c"), KeyPair(KeyPair("a", "b:c"), ""), KeyPair(KeyPair("a:b", "c"), ""),
        ])
        try await findsEach([KeyPair(Data([58, 0]), Data([37])), KeyPair(Data([58]), Data([0, 37]))])
        #expect(KeyPair("a", 1) == KeyPair("a", 1) && KeyPair("a", 1) != KeyPair("a", 2))
        #expect(KeyPair("a:b", 7).keyBytes == Array("a%3Ab:7".utf8))
    }

    @Test("pairs of random texts: the bytes are equal only where the pairs are")
    func injective() {
        var random = SplitMix64.announced()
        let pieces = [":", "%", "%3A", "%25", "3A", "a", "é", "e\u{301}", ""]
        func text() -> String {
            (0..<Int.random(in: 0...3, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
        }
        var seen: [[UInt8]: KeyPair<String, String>] = [:]
        for _ in 0..<20_000 {
            let pair = KeyPair(text(), text())
            if let other = seen.updateValue(pair, forKey: pair.keyBytes) { #expect(other == pair) }
            #expect(KeyPair<String, String>.reading(pair.keyBytes) == pair)
        }
        #expect(Set(seen.values).count == seen.count)
    }

    @Test("a pair is read back from its bytes where its parts are")
    func reading() {
        struct Own: KeyRepresentable {
            var text: String
            var keyBytes: [UInt8] { Array(text.utf8) }
        }
        struct Wrapped: RawRepresentable, KeyRepresentable { var rawValue: KeyPair<Own, Int> }
        #expect(KeyPair<Int, Colour>.isReadable && !KeyPair<Own, Int>.isReadable && !Wrapped.isReadable)
        for bytes in ["7", "7:", ":red", "7:red:", "x:red", "07:red", "7:blue", "7%:red", "7%3a1:red"] {
            #expect(KeyPair<Int, Colour>.reading(Array(bytes.utf8)) == nil, "\(bytes)")
        }
        #expect(KeyPair<Int, Colour>.reading(Array("7:red".utf8)) == KeyPair(7, .red))
    }
}
