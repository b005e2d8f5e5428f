import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Codecs of a level in Redis", .timeLimit(.minutes(5)))
struct RedisCodecTests {
    private let keyspace = Keyspace(TestServer.uniqueName("codec"))

    struct Moved: Error {}

    /// Bound to the place by having it in front.
    private static let bound = ByteStage(identifier: 200, name: "bound") { bytes, context in
        context + bytes
    } undo: { bytes, context in
        guard bytes.starts(with: context) else { throw Moved() }
        return Array(bytes.dropFirst(context.count))
    }

    /// Adds a byte, as a compression that is none.
    private static let longer = ByteStage(identifier: 201, name: "longer") { bytes, _ in
        bytes + [7]
    } undo: { bytes, _ in
        Array(bytes.dropLast())
    }

    private func level(_ redis: RedisClient, _ codec: Codec<String>) -> RedisLevel<String, String> {
        RedisLevel(redis, keyspace: keyspace, codec: codec)
    }

    @Test("any codec with any stages; the label says which", arguments: [Codec<String>.json, .cbor, .text])
    func stages(codec: Codec<String>) async throws {
        let redis = try await TestServer.client()
        let level = level(redis, codec.compressed(by: Self.longer).protected(by: Self.bound))
        try await level.set("grüße", for: "k")
        #expect(try await level.get("k") == "grüße")
        #expect(level.label.name.hasSuffix(", longer, bound"))
        // What was written without compression can still be read, without protection it cannot.
        try await self.level(redis, codec).set("plain", for: "p")
        #expect(try await self.level(redis, codec.compressed(by: Self.longer)).get("p") == "plain")
        #expect(try await level.get("p") == nil)
        try await level.clear()
    }

    @Test("a protected value that is copied to another key is a miss there")
    func moved() async throws {
        let redis = try await TestServer.client()
        let level = level(redis, .text.protected(by: Self.bound))
        try await level.set("secret", for: "a")
        let names = (level.names(for: "a"), level.names(for: "b"))
        var envelope = try Envelope(try #require(try await redis.get(names.0.value)), keyHash: names.0.fingerprint)
        // Whoever can write into Redis can make the envelope's own key and checksum fit.
        envelope.keyHash = names.1.fingerprint
        _ = try await redis.set(names.1.value, envelope.encoded())
        #expect(try await level.get("b") == nil)
        #expect(level.statistics.unusable == 1)
        #expect(try await level.get("a") == "secret")
        try await level.clear()
    }

    @Test("a protected level believes absences that are protected, too, and at their own key")
    func absences() async throws {
        let redis = try await TestServer.client()
        let level = level(redis, .text.protected(by: Self.bound))
        let source = Locked(0)
        let cache = level.fetching(.lasting) { _, _ -> FetchOutcome<String> in
            source.withLock { $0 += 1 }
            return .absent()
        }
        for _ in 0..<2 { #expect(try await cache.get("a") == nil) }
        #expect(source.withLock { $0 } == 1)
        let names = (level.names(for: "a"), level.names(for: "b"))
        var envelope = try Envelope(try #require(try await redis.get(names.0.value)), keyHash: names.0.fingerprint)
        #expect(envelope.kind == .absence && envelope.protection == 200)
        envelope.keyHash = names.1.fingerprint
        _ = try await redis.set(names.1.value, envelope.encoded())
        #expect(try await cache.get("b") == nil)
        #expect(source.withLock { $0 } == 2)
        // One that whoever can write into Redis has made.
        try await self.level(redis, .text).store(Entry(.absent), for: "c")
        #expect(try await self.level(redis, .text).entry(for: "c", ReadRequest())?.content == .absent)
        #expect(try await cache.get("c") == nil)
        #expect(source.withLock { $0 } == 3)
        try await level.clear()
    }

    @Test("two releases side by side: each reads its own, and the newer one can make use of the older one's values")
    func releases() async throws {
        let redis = try await TestServer.client()
        let older = level(redis, .text.schema(1))
        let newer = level(redis, .text.schema(2))
        let migrating = level(
            redis,
            .text.schema(2).migrating { "from \($0.schema): " + String(decoding: $0.bytes, as: UTF8.self) }
        )
        try await older.set("v", for: "k")
        #expect(try await newer.get("k") == nil)
        #expect(try await migrating.get("k") == "from 1: v")
        #expect(try await older.get("k") == "v")
        try await newer.set("w", for: "k")
        #expect(try await older.get("k") == nil)
        #expect(try await migrating.get("k") == "w")
        try await newer.clear()
    }

    @Test("A173 memory over Redis over any source: one fetch, and the value is in both")
    func readyMade() async throws {
        let redis = try await TestServer.client()
        let memory = MemoryLevel<String, String>(limit: .entries(10))
        let shared = level(redis, .cbor)
        let counter = FetchCounter()
        let cache = memory.compose(
            shared.fetching(.lasting) { key in
                counter.add()
                return key.uppercased()
            }
        )
        #expect(try await cache.get("tea") == "TEA")
        #expect(try await cache.get("tea") == "TEA")
        #expect(try await shared.get("tea") == "TEA")
        #expect(counter.count == 1)
        try await cache.clear()
    }

    private final class FetchCounter: Sendable {
        private let fetches = Locked(0)

        var count: Int { fetches.withLock { $0 } }

        func add() { fetches.withLock { $0 += 1 } }
    }
}
