#if Disk
import Strata
import StrataDisk
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

/// Memory over a disk over Redis, and processes that come back to their disk.
@Suite("A disk above Redis, after a restart", .timeLimit(.minutes(5)))
struct RestartedDiskTests {
    private typealias Cache = Composed<
        MemoryLevel<String, String>, Composed<DiskLevel<String, String>, RedisLevel<String, String>>
    >

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    /// A process: its own memory and client, and the disk of the one before it.
    private func start(
        _ server: RedisServer,
        budget: Duration = .seconds(20)
    ) async throws -> (cache: Cache, redis: RedisLevel<String, String>) {
        let client = try TestServer.client(of: server) {
            $0.redisBudget = budget
            $0.commandTimeout = budget + .seconds(1)
        }
        let level = RedisLevel<String, String>(client, keyspace: keyspace, codec: .text)
        let store = DiskStore(path: folder.path + "/cache.sqlite")
        let disk = DiskLevel<String, String>(store, namespace: "values", codec: .text)
        try await level.ready(within: .seconds(30))
        return (MemoryLevel(limit: .entries(100)).compose(disk).compose(level), level)
    }

    private func with(_ body: (RedisServer, RedisLevel<String, String>) async throws -> Void) async throws {
        try await RedisServer.withServer { server in
            let other = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: keyspace,
                codec: .text
            )
            try await other.ready(within: .seconds(30))
            try await body(server, other)
        }
    }

    @Test("what others have changed while the process was away is not served from the disk, alone or in a batch")
    func changedMeanwhile() async throws {
        try await with { server, other in
            let before = try await start(server).cache
            for key in ["a", "b", "d", "kept"] { try await before.set("old", for: key) }
            try await before.set("old", for: "c", tags: ["t"])
            for key in ["a", "d"] { try await other.set("new", for: key) }
            try await other.remove("b")
            try await other.invalidate(tags: ["t"])
            let cache = try await start(server).cache
            let (value, trace) = try await cache.getWithTrace("a")
            #expect(value == "new" && "\(trace)".contains("disk missed (unconfirmed)"), "\(trace)")
            #expect(try await cache.get(["a", "b", "c", "d", "kept"]) == ["new", nil, nil, "new", "old"])
        }
    }

    @Test("what Redis has confirmed is served from the disk again, until it changes")
    func confirmed() async throws {
        try await with { server, other in
            try await start(server).cache.set("old", for: "k")
            let (cache, redis) = try await start(server)
            #expect(try await cache.get("k") == "old")
            // The disk is filled in the background where that takes its time.
            await cache.drain(within: .seconds(60))
            let reads = redis.statistics.hits
            try await cache.upper.removeAll()
            let (value, trace) = try await cache.getWithTrace("k")
            #expect(value == "old" && trace.origin == .disk, "\(trace)")
            #expect(redis.statistics.hits == reads)
            try await other.set("new", for: "k")
            while try await cache.get("k") != "new" { try await nextTurn() }
        }
    }

    @Test("while Redis cannot be asked, the disk's values are served, are said to be suspect, and are asked for again")
    func outage() async throws {
        try await with { server, other in
            try await start(server).cache.set("old", for: "k")
            let cache = try await start(server, budget: .seconds(2)).cache
            try await other.set("new", for: "k")
            try await server.pause()
            for _ in 0..<2 {
                let (value, trace) = try await cache.getWithTrace("k")
                #expect(value == "old" && trace.state == .suspect, "\(trace)")
            }
            try await server.resume()
            while try await cache.get("k") != "new" { try await nextTurn() }
        }
    }

    @Test("a disk above a source has no server to ask, and serves what an earlier process has stored")
    func aboveASource() async throws {
        func cache() -> Composed<DiskLevel<String, String>, Source<String, String>> {
            DiskLevel(DiskStore(path: folder.path + "/cache.sqlite"), namespace: "values", codec: .text)
                .compose(Source { _ in "from the source" })
        }
        try await cache().set("old", for: "k")
        #expect(try await cache().get("k") == "old")
    }
}
#endif
