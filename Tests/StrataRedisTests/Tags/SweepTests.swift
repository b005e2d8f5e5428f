import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Sweeps", .timeLimit(.minutes(5)))
struct SweepTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func level(_ server: RedisServer, schema: UInt32 = 0) throws -> RedisLevel<String, String> {
        RedisLevel(
            try TestServer.client(of: server),
            keyspace: keyspace,
            codec: .text,
            coherence: .none,
            schema: schema
        )
    }

    @Test("what is void goes, everything else stays: valid, foreign, newer, of another schema, of another keyspace")
    func sweep() async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            let other = try self.level(server, schema: 7)
            let redis = level.redis
            for number in 0..<1_500 {
                try await level.set("v", for: "\(number)", tags: [number % 3 == 0 ? "red" : "green"])
            }
            let many = (0..<999).map { "a tag of some length \($0)" }
            try await level.set("v", for: "many", tags: many + ["red"])
            try await other.set("v", for: "of another schema", tags: ["red"])
            let neighbour = RedisLevel<String, String>(
                redis,
                keyspace: Keyspace(keyspace.name + "2"),
                codec: .text,
                coherence: .none
            )
            try await neighbour.set("v", for: "k", tags: ["red"])
            func name(_ key: String) -> RedisKey { keyspace.names(for: key.keyBytes).value }
            var newer = try #require(try await redis.get(name("0")))
            newer[3] = 9
            try await redis.set(name("newer"), newer)
            try await redis.set(name("foreign"), Array("not ours".utf8))
            try await redis.set(name("misplaced"), try #require(try await redis.get(name("0"))))
            _ = try await redis.send([Array("RPUSH".utf8), name("list").bytes, [1]])
            try await level.invalidate(tag: "red")
            try await level.set("again", for: "3", tags: ["red"])

            var reports: [SweepProgress] = []
            let done = try await level.sweep(rate: 1_000_000) { reports.append($0) }
            #expect(done.removed == 500)
            #expect(done.looked >= 1_506)
            #expect(reports.last == done)
            #expect(reports.count > 2)
            #expect(try await level.get("3") == "again")
            #expect(try await level.get("1") == "v")
            #expect(try await redis.exists(name("0"), name("many")) == 0)
            #expect(try await redis.exists(name("newer"), name("foreign"), name("misplaced"), name("list")) == 4)
            #expect(try await redis.exists(name("of another schema"), neighbour.names(for: "k").value) == 2)

            try await level.clear()
            #expect(try await level.sweep(rate: 1_000_000).removed == 1_001)
            #expect(try await level.sweep(rate: 1_000_000).removed == 0)
            #expect(try await neighbour.get("k") == "v")
        }
    }

    @Test("a value that takes the void one's place while it is looked at stays")
    func replaced() async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            try await level.set("old", for: "k")
            let name = level.names(for: "k").value
            let stamp = Envelope.stamp(of: try #require(try await level.redis.get(name)))
            try await level.set("new", for: "k")
            func remove(_ stamp: [UInt8]) async throws -> Int64? {
                try await level.redis.run(TagScripts.removeVersion, keys: [name], arguments: [stamp], repetition: .once)
                    .integer
            }
            #expect(try await remove(stamp) == 0)
            #expect(try await level.get("k") == "new")
            #expect(try await remove(Envelope.stamp(of: try #require(try await level.redis.get(name)))) == 1)
            #expect(try await remove([]) == 0)
        }
    }

    @Test(
        "no more values are looked at than the rate allows; a sweep that is cancelled ends, and what it removed is gone"
    )
    func rate() async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            for number in 0..<2_000 { try await level.set("v", for: "\(number)") }
            try await level.clear()
            let clock = ManualClock()
            let progress = Locked<[SweepProgress]>([])
            let sweep = Task {
                try await level.sweep(rate: 100, clock: clock) { step in progress.withLock { $0.append(step) } }
            }
            // It has looked at one batch, and waits for its time.
            await clock.sleepers(1)
            let first = try #require(progress.withLock { $0.last })
            #expect(first.looked > 0 && first.looked < 2_000 && first.removed == first.looked)
            try clock.advance(by: .milliseconds(first.looked * 10 - 1))
            #expect(progress.withLock { $0.count } == 1)
            sweep.cancel()
            await #expect(throws: CancellationError.self) { try await sweep.value }
            let left = try await KeyspaceInspector(level.redis, keyspace).counts()
            #expect(left.values == 2_000 - first.removed)
        }
    }

    @Test("tags are forgotten when no entry can be as old as their last invalidation")
    func forgottenTags() async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            try await level.invalidate(tags: ["new", "renewed"])
            func hset(_ field: String, _ number: Duration) async throws {
                let text = String(number.saturatedNanoseconds / 1_000)
                try await server.command(bytes: [
                    Array("HSET".utf8), keyspace.marks, Array(field.utf8), Array(text.utf8),
                ])
            }
            let now = try await level.redis.time()
            try await hset("=old", now - .seconds(32 * 86_400))
            try await hset("=not so old", now - .seconds(30 * 86_400))
            try await server.command(bytes: [Array("HSET".utf8), keyspace.marks, Array("=odd".utf8), Array("x".utf8)])
            #expect(try await level.sweep().forgottenTags == 1)
            let fields = try await level.redis.tagFields(in: keyspace, nil, from: 0).fields
                .map { String(decoding: $0.name, as: UTF8.self) }
            #expect(Set(fields) == ["s", "c", "f", "=new", "=renewed", "=not so old", "=odd"])
            // Invalidated again since it was looked at.
            let reply = try await level.redis.run(
                TagScripts.forgetTags,
                keys: [RedisKey(keyspace.marks)],
                arguments: [Array("=new".utf8), Array("1".utf8)],
                repetition: .once
            )
            #expect(reply.integer == 0)
        }
    }
}
