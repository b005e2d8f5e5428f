import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A server that could not save its data, and answers PING with an error", .timeLimit(.minutes(5)))
struct FailedSaveTests {
    @Test("it is read as ever, over new connections too, and memory stays trusted")
    func reads() async throws {
        try await RedisServer.withServer(.init(directives: ["dbfilename dump.rdb"])) { server in
            var configuration = try RedisConfiguration(url: server.url)
            configuration.beIn(patience: .seconds(20))
            configuration.linkPingInterval = .milliseconds(50)
            let redis = try RedisClient(configuration)
            let level = RedisLevel<String, String>(redis, keyspace: "products", codec: .text)
            try await level.set("v", for: "k")
            try await level.listens()
            try await failToSave(server)

            let other = try RedisClient(configuration)
            #expect(try await other.exists("products") == 0)
            try await RedisLevel<String, String>(other, keyspace: "products", codec: .text).ready(within: .seconds(30))
            let end = MonotonicInstant.now.advanced(by: .seconds(1))
            var reads = 0
            while .now < end {
                try await withThrowingTaskGroup { group in
                    for _ in 0..<20 { group.addTask { try await level.get("k") } }
                    for try await value in group { #expect(value == "v") }
                }
                #expect(level.untrustedReason == nil)
                reads += 1
            }
            #expect(level.statistics.failures == 0)
            await other.shutDown()
            await redis.shutDown()
        }
    }

    private func failToSave(_ server: RedisServer) async throws {
        guard case .array(let settings) = try await server.command("CONFIG", "GET", "dir") else { return }
        // A folder in the place of the file.
        let place = settings[1].text + "/dump.rdb"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        _ = try await server.command("CONFIG", "SET", "save", "3600 1")
        _ = try await server.command("BGSAVE")
        while try await !server.command("INFO", "persistence").text.contains("rdb_last_bgsave_status:err") {
            try await nextTurn()
        }
        let error = await #expect(throws: HarnessError.self) { _ = try await server.command("PING") }
        #expect(error?.message.contains("MISCONF") == true)
    }
}
