import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("An invalidation that is repeated leaves what is newer")
struct RemoveOlderTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test("the script's digest is the one that the server computes")
    func digests() async throws {
        let redis = try await TestServer.client()
        for script in OutageScripts.all {
            let reply = try await redis.send([Array("SCRIPT".utf8), Array("LOAD".utf8), Array(script.source.utf8)])
            #expect(reply.string == script.digest, "\(script.name)")
        }
    }

    /// What lies there: when it was stored, and how long its fetch took, in seconds before now.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var storedAgo = 0
        var fetchTook = 0
        /// How long ago the invalidation was, in seconds.
        let invalidatedAgo: Int
        let isLeft: Bool
        var testDescription: String { name }
    }

    @Test(
        "a value is left whose fetch began after the invalidation, as far as clocks can tell",
        arguments: [
            Row(name: "stored before", storedAgo: 100, invalidatedAgo: 50, isLeft: false),
            Row(name: "stored after", storedAgo: 20, invalidatedAgo: 50, isLeft: true),
            Row(
                name: "stored after, fetched since before",
                storedAgo: 20,
                fetchTook: 60,
                invalidatedAgo: 50,
                isLeft: false
            ),
            Row(name: "stored and fetched after", storedAgo: 20, fetchTook: 10, invalidatedAgo: 50, isLeft: true),
            Row(name: "so short after that clocks may be wrong", storedAgo: 49, invalidatedAgo: 50, isLeft: false),
            Row(name: "just now", invalidatedAgo: 0, isLeft: false),
            Row(name: "from a future that is no error of a clock", storedAgo: -60, invalidatedAgo: 50, isLeft: false),
        ]
    )
    func ages(row: Row) async throws {
        let redis = try await TestServer.client()
        let names = keyspace.names(for: row.name.keyBytes)
        let now = try await redis.time().saturatedNanoseconds / 1_000_000
        var envelope = Envelope(
            kind: .value,
            codec: 1,
            keyHash: names.fingerprint,
            version: .random(),
            storedAt: now - Int64(row.storedAgo) * 1_000,
            freshUntil: .max,
            staleUntil: .max,
            payload: [1, 2, 3]
        )
        envelope.fetchDuration = UInt32(row.fetchTook) * 1_000_000
        try await redis.set(names.value, envelope.encoded(), expiringIn: .seconds(60))
        try await redis.set(names.lease, [1], expiringIn: .seconds(60))
        try await repeatInvalidation(of: names, madeAgo: .seconds(row.invalidatedAgo), by: redis)
        #expect(try await redis.exists(names.value) == (row.isLeft ? 1 : 0))
        #expect(try await redis.exists(names.lease) == (row.isLeft ? 1 : 0))
        try await redis.delete(names.value, names.lease)
    }

    @Test("what no envelope is goes: it cannot tell its age")
    func foreign() async throws {
        let redis = try await TestServer.client()
        let names = keyspace.names(for: "foreign".keyBytes)
        func repeated() async throws {
            try await repeatInvalidation(of: names, madeAgo: .seconds(100), by: redis)
            #expect(try await redis.exists(names.value, names.lease) == 0)
        }
        for bytes in [[], [1, 2, 3], [0xd7, 0x53, 0x54, 2] + Array(repeating: 0, count: 100)] as [[UInt8]] {
            try await redis.set(names.value, bytes, expiringIn: .seconds(60))
            try await redis.set(names.lease, [1], expiringIn: .seconds(60))
            try await repeated()
        }
        _ = try await redis.send([Array("RPUSH".utf8), names.value.bytes, [1]])
        try await repeated()
        try await repeated()
    }

    @Test(
        "a value that the fleet has fetched says when its fetch began, however long it lay about before it was stored"
    )
    func fetched() async throws {
        let redis = try await TestServer.client()
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: .none)
        let began = Locked(Int64(0))
        let cache = level.fetching(.lasting) { _ in
            let now = try await redis.time()
            began.withLock { $0 = now.saturatedNanoseconds / 1_000_000 }
            return "value"
        }
        #expect(try await cache.get("k") == "value")
        let names = keyspace.names(for: "k".keyBytes)
        let bytes = try #require(try await redis.get(names.value))
        let envelope = try Envelope(bytes, keyHash: names.fingerprint)
        let offset = try await level.serverClock.offset()
        let later = MonotonicInstant.now.serverMilliseconds(offset: offset)
        let error = level.serverClock.error / 1_000_000 + 1
        #expect(envelope.storedAt - Int64(envelope.fetchDuration) / 1_000 <= began.withLock { $0 } + error)
        #expect(envelope.storedAt <= later + error)
        try await level.clear()
    }

    private func repeatInvalidation(of names: KeyNames, madeAgo ago: Duration, by redis: RedisClient) async throws {
        var pending = PendingInvalidations(limit: 1)
        let madeAt = MonotonicInstant.now.advanced(by: ago * -1)
        pending.record(.key(names, keyspace), .removal, at: madeAt, for: .seconds(1_000))
        try await redis.repeatInvalidation(try #require(pending.inOrder.first), by: .distantFuture)
    }
}
