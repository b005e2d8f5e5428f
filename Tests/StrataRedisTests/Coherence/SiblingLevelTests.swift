import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Several levels of one keyspace on one client", .timeLimit(.minutes(5)))
struct SiblingLevelTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    enum Change: CaseIterable {
        case remove, set, update, expire
    }

    private func change(_ way: Change, _ level: RedisLevel<String, String>) async throws {
        switch way {
        case .remove: try await level.remove("k")
        case .set: try await level.set("new", for: "k")
        case .update: try await level.update("k") { _ in "new" }
        case .expire: #expect(try await !level.expire("k"))
        }
    }

    @Test("what one of them has changed no other serves from memory", arguments: Change.allCases)
    func changed(way: Change) async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            let other = RedisLevel<String, String>(one.redis, keyspace: keyspace, codec: .text)
            for _ in 0..<50 {
                try await one.cache.set("old", for: "k")
                while one.remembers("k") != "old" { #expect(try await one.cache.get("k") == "old") }
                try await change(way, other)
                #expect(one.remembers("k") == nil)
            }
        }
    }
}
