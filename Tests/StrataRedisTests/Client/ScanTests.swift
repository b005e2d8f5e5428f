import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Scans", .timeLimit(.minutes(5)))
struct ScanTests {
    @Test("a server that is restarted while its keys are walked over leaves none out")
    func restarted() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let names = (0..<20_000).map { "k:\($0)" }
            _ = try await redis.send(["MSET"].map { Array($0.utf8) } + names.flatMap { [Array($0.utf8), [1]] })
            _ = try await redis.send("HSET", "other", "f", "1")
            var found: Set<RedisKey> = []
            var batches = 0
            for try await keys in redis.keys(beginningWith: Array("k:".utf8)) {
                found.formUnion(keys)
                batches += 1
                guard batches == 10 else { continue }
                try await server.restart(keepingData: true)
                // An attempt from before the server was there may fail a call that has come later.
                while (try? await redis.ping()) == nil { try await nextTurn() }
            }
            #expect(found.count == names.count)
            #expect(batches > 20_000 / 512)
        }
    }
}
