import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Databases of one server", .timeLimit(.minutes(5)))
struct DatabaseTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test("a keyspace of the same name in another database is another one: its numbers void nothing here")
    func apart() async throws {
        try await RedisServer.withServer { server in
            func level(_ database: Int) throws -> RedisLevel<String, String> {
                let redis = try TestServer.client(of: server) { $0.database = database }
                return RedisLevel(redis, keyspace: keyspace, codec: .text)
            }
            let (one, neighbour, other) = (try level(0), try level(0), try level(1))
            func cleared() async throws -> String {
                try await server.command("HGET", String(decoding: keyspace.marks, as: UTF8.self), "c").text
            }
            for level in [one, neighbour] {
                try await level.listens()
                try await level.set("v", for: "k", tags: ["t"])
            }
            let before = try await cleared()
            // Its numbers are later than all of database 0.
            try await other.listens()
            try await other.set("other", for: "k", tags: ["t"])
            try await other.removeAll()
            // Heard behind what the other has told, on the same channel.
            let memory = MemoryLevel<String, String>(limit: .entries(4)).compose(one)
            try await memory.set("v", for: "mark", tags: ["mark"])
            try await neighbour.invalidate(tag: "mark")
            while memory.resident("mark", at: .coarse) != nil { try await nextTurn() }
            // By the highest number that it has heard of.
            try await one.invalidate(tag: "none")
            #expect(try await cleared() == before)
            #expect(try await one.get("k") == "v")
            #expect(try await other.get("k") == nil)
            for level in [one, neighbour, other] { await level.redis.shutDown() }
        }
    }
}
