import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What a source says, through Redis", .timeLimit(.minutes(5)))
struct OutcomeTests {
    private static let long = EntryLifetime(freshFor: .seconds(1000), staleFor: .seconds(500))
    private static let short = EntryLifetime(freshFor: .milliseconds(1), staleFor: .seconds(60))

    private let keyspace = Keyspace(TestServer.uniqueName())

    private func level(_ server: RedisServer, _ freshness: FreshnessPolicy = FreshnessPolicy()) throws
        -> RedisLevel<String, String>
    {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, freshness: freshness)
    }

    private func envelope(_ level: RedisLevel<String, String>, _ key: String) async throws -> Envelope? {
        try await level.redis.get(keyspace.names(for: key.keyBytes).value).map { try Envelope($0, keyHash: nil) }
    }

    @Test("a value with its lifetime and its tags: so it lies in Redis, and other instances see that")
    func value() async throws {
        try await RedisServer.withServer { server in
            let cache = try level(server)
                .fetching(.lasting) { _, _ in
                    .value("v", lifetime: Self.long, tags: ["a", "b"])
                }
            #expect(try await cache.get("k") == "v")
            let found = try #require(try await envelope(cache.level, "k"))
            #expect(found.tags == ["a", "b"])
            // The time of storing is told a little early, on a busy machine by seconds, and never late.
            #expect((900_000...1_060_000).contains(found.freshUntil - found.storedAt))
            #expect(found.staleUntil - found.freshUntil == 500_000)
            let left = try #require(try await level(server).entry(for: "k", ReadRequest())?.freshUntil)
            #expect(MonotonicInstant.now.duration(to: left) > .seconds(900))
        }
    }

    @Test("absent: remembered for its own time; do not store: no trace in Redis, and the lease is gone")
    func nothing() async throws {
        try await RedisServer.withServer { server in
            let cache = try level(server)
                .fetching(.lasting) { key, _ in
                    key == "absent" ? .absent(lifetime: EntryLifetime(freshFor: .seconds(77))) : .doNotStore("once")
                }
            #expect(try await cache.get("absent") == nil)
            #expect(try await envelope(cache.level, "absent")?.kind == .absence)
            #expect(try await cache.get("k") == "once")
            // The absence, and the keyspace's marks.
            #expect(try await server.command("DBSIZE").integer == 2)
        }
    }

    @Test("not modified: the value is fresh again and its bytes are not sent; its version is a new one")
    func notModified() async throws {
        try await RedisServer.withServer { server in
            let policy = FreshnessPolicy(staleIfError: .seconds(600), jitter: 0, earlyRefresh: 0)
            let level = try level(server, policy)
            let text = String(repeating: "long ", count: 100_000)
            try await level.set(text, for: "k", lifetime: Self.short)
            let before = try #require(try await envelope(level, "k"))
            let cache = level.fetching(.lasting) { _, context in
                #expect(context.old == text)
                #expect(context.age != nil)
                return .notModified()
            }
            while try await level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true { try await nextTurn() }
            let sent = try await bytesReceived(by: server)
            #expect(try await cache.get("k") == text)
            #expect(try await bytesReceived(by: server) - sent < 50_000)
            let after = try #require(try await envelope(level, "k"))
            #expect(after.payload == before.payload)
            #expect(after.version != before.version)
            // As above.
            #expect((300_000...360_000).contains(after.freshUntil - after.storedAt))
            let left = try await level.redis.timeToLive(of: keyspace.names(for: "k".keyBytes).value)
            guard case .remaining(let time) = left else { return #expect(Bool(false), "no time to live") }
            #expect(time > .seconds(800))
            #expect(try await cache.get("k") == text)
            #expect(cache.level.statistics.stores == 1)
        }
    }

    private func bytesReceived(by server: RedisServer) async throws -> Int {
        let text = try await server.command("INFO", "stats").text
        let name = "total_net_input_bytes:"
        let line = try #require(text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name) })
        return try #require(Int(line.dropFirst(name.count)))
    }

    @Test("not modified, but the value has been removed or replaced meanwhile: nothing is stored")
    func modifiedMeanwhile() async throws {
        try await RedisServer.withServer { server in
            let policy = FreshnessPolicy(staleIfError: .seconds(600))
            let level = try level(server, policy)
            let other = try self.level(server, policy)
            let cache = level.fetching(.lasting) { key, _ in
                if key == "removed" { try await other.remove(key) } else { try await other.set("newer", for: key) }
                return .notModified()
            }
            for key in ["removed", "replaced"] {
                try await level.set("old", for: key, lifetime: Self.short)
                while try await level.entry(for: key, ReadRequest())?.isFresh(at: .now) == true { try await nextTurn() }
                #expect(try await cache.get(key) == "old")
            }
            #expect(try await envelope(level, "removed") == nil)
            #expect(try await other.get("replaced") == "newer")
            #expect(level.statistics.refusedStores == 2)
        }
    }

    @Test("not modified, but a program that knows nothing of leases has written meanwhile: its bytes stay as they are")
    func overwrittenMeanwhile() async throws {
        try await RedisServer.withServer { server in
            let level = try level(server, FreshnessPolicy(staleIfError: .seconds(600)))
            let theirs = Array("no envelope, but long enough to have a header and a stamp".utf8)
            let name = keyspace.names(for: "k".keyBytes).value
            let cache = level.fetching(.lasting) { [level] _, _ in
                try await level.redis.set(name, theirs)
                return .notModified()
            }
            try await level.set("old", for: "k", lifetime: Self.short)
            while try await level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true { try await nextTurn() }
            #expect(try await cache.get("k") == "old")
            #expect(try await level.redis.get(name) == theirs)
            #expect(level.statistics.refusedStores == 1)
        }
    }

    @Test("a failure with its own time: no instance asks before it ends")
    func retryAfter() async throws {
        struct Busy: TransferableError {
            var transferCode: String { "busy" }
            var transferDetail: String { "until noon" }
        }
        try await RedisServer.withServer { server in
            let count = SharedCount()
            let fleet = try (0..<3)
                .map { _ in
                    try level(server)
                        .fetching(.lasting) { _, _ in
                            count.increment()
                            return .failure(Busy(), retryAfter: .seconds(1000))
                        }
                }
            await #expect(throws: Busy.self) { try await fleet[0].get("k") }
            for instance in fleet.dropFirst() {
                let error = await #expect(throws: CacheError.self) { try await instance.get("k") }
                #expect(error?.code == .sourceFailed)
                #expect(error?.retryAfter ?? .zero > .seconds(900))
                #expect(error?.transferred?.code == "busy")
                #expect(error?.transferred?.detail == "until noon")
            }
            // Where it was thrown, it stays what it is.
            let memory = MemoryLevel<String, String>(limit: .entries(4)).conditioned { _ in false }
            for _ in 0..<3 {
                await #expect(throws: Busy.self) { try await fleet[0].get("k") }
                await #expect(throws: Busy.self) { try await memory.compose(fleet[0]).get(["k", "k"]) }
            }
            #expect(count.value == 1)
        }
    }

    @Test("A198 the age that a read allows decides, also for what lies in Redis")
    func maximumAge() async throws {
        try await RedisServer.withServer { server in
            let count = SharedCount()
            let cache = try level(server)
                .fetching(.lasting) { _, _ in
                    count.increment()
                    return .value("new")
                }
            try await cache.set("old", for: "k")
            #expect(try await cache.get("k", ReadOptions(maximumAge: .seconds(600))) == "old")
            let entry = try #require(try await cache.level.entry(for: "k", ReadRequest()))
            while entry.age(at: .now) ?? .zero < .milliseconds(20) { try await nextTurn() }
            #expect(try await cache.get("k", ReadOptions(maximumAge: .milliseconds(10))) == "new")
            #expect(try await cache.get("k") == "new")
            #expect(count.value == 1)
        }
    }
}

/// A count that tasks can share.
final class SharedCount: Sendable {
    private let count = Locked(0)

    var value: Int { count.withLock { $0 } }

    func increment() { count.withLock { $0 += 1 } }
}
