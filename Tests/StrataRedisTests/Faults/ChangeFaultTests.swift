import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Updates whose answer is lost", .leavesNothing, .serialized, .timeLimit(.minutes(3)))
struct ChangeFaultTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// Runs an update through a proxy that keeps the answer of its script; the server has run it when `meanwhile` runs.
    ///
    /// - Returns: The error of the update, and how often its closure ran.
    private func losingTheAnswer(
        of change: @escaping @Sendable ([Int]?) -> [Int]?,
        _ meanwhile: (_ direct: ListInstance) async throws -> Void = { _ in }
    ) async throws -> (code: CacheError.Code?, runs: Int, list: [Int]?, memory: [Int]?) {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let direct = try ListInstance(server.url, keyspace)
            let one = try ListInstance(proxy.url, keyspace)
            try await one.listen()
            // The server has the scripts afterwards.
            try await one.cache.update("k") { _ in [0] }
            try await one.cache.update("k") { _ in nil }
            try await one.cache.set([1], for: "k")
            let runs = Locked(0)
            async let outcome = cacheCode {
                try await one.cache.update("k", within: .seconds(60)) { old in
                    runs.withLock { $0 += 1 }
                    proxy.stall(.toClient)
                    return change(old)
                }
            }
            while try await direct.level.get("k") == [1] { try await nextTurn() }
            try await meanwhile(direct)
            // What is held is dropped.
            proxy.resetConnections()
            proxy.resume(.toClient)
            let code = await outcome
            // Only the first answer was to be lost.
            let found = (code, runs.withLock { $0 }, try await direct.level.get("k"), try await one.cache.get("k"))
            await one.redis.shutDown()
            await direct.redis.shutDown()
            await proxy.stop()
            return found
        }
    }

    /// How many scripts the server has run.
    private func scripts(_ server: RedisServer) async throws -> Substring? {
        let text = try await server.command("INFO", "commandstats").text
        return text.split(separator: "\n").first { $0.hasPrefix("cmdstat_evalsha:") }?.prefix { $0 != "," }
    }

    @Test("the answer is lost after the change was made: it is made once, and the caller told so")
    func applied() async throws {
        let found = try await losingTheAnswer { ($0 ?? []) + [2] }
        #expect(found.code == nil && found.runs == 1)
        #expect(found.list == [1, 2] && found.memory == [1, 2])
    }

    @Test("the answer is lost and another has changed the key since: the error says that the outcome is unknown")
    func unknown() async throws {
        let found = try await losingTheAnswer {
            ($0 ?? []) + [2]
        } _: { direct in
            try await direct.level.update("k") { ($0 ?? []) + [3] }
        }
        #expect(found.code == .outcomeUnknown && found.runs == 1)
        #expect(found.list == [1, 2, 3] && found.memory == [1, 2, 3])
    }

    @Test("the answer to a removal is lost: the error says that the outcome is unknown, and memory has nothing")
    func removed() async throws {
        let found = try await losingTheAnswer { _ in nil }
        #expect(found.code == .outcomeUnknown && found.runs == 1)
        #expect(found.list == nil && found.memory == nil)
    }

    @Test("the change is lost on its way: it is sent again and made once")
    func lost() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try ListInstance(proxy.url, keyspace)
            try await one.listen()
            try await one.cache.set([1], for: "k")
            var runs = 0
            let before = proxy.snapshot.counts.accepted
            async let cut: Void = {
                // A piece of the script at least; the rest goes with its connection.
                try await proxy.wait { $0.counts.toServer.swallowed >= 100 }
                proxy.update(.toServer) { $0.isBlackhole = false }
                proxy.resetConnections()
            }()
            try await one.cache.update("k", within: .seconds(60)) { old in
                runs += 1
                proxy.update(.toServer) { $0.isBlackhole = true }
                return (old ?? []) + [2]
            }
            try await cut
            #expect(runs == 1 && proxy.snapshot.counts.accepted > before)
            #expect(try await one.cache.get("k") == [1, 2])
            #expect(try await one.level.get("k") == [1, 2])
            await one.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("a server that stands still: an error within the budget, and a change that comes too late is not made")
    func late() async throws {
        try await RedisServer.withServer { server in
            let direct = try ListInstance(server.url, keyspace)
            let one = try ListInstance(server.url, keyspace) { configuration in
                configuration.commandTimeout = .milliseconds(200)
                configuration.redisBudget = .milliseconds(200)
            }
            try await one.listen()
            // The server has the script afterwards.
            try await direct.level.update("k") { _ in [1] }
            let calls = try await scripts(server)
            var code: CacheError.Code?
            var runs = 0
            // A busy machine may spend the budget on reading, and then the script is never sent.
            while runs == 0 {
                code = await cacheCode {
                    try await one.level.update("k") { old in
                        runs += 1
                        try await server.pause()
                        return (old ?? []) + [2]
                    }
                }
            }
            #expect(code == .outcomeUnknown)
            // Past the deadline, with what two clocks may differ by.
            try await Task.pause(for: .milliseconds(100))
            try await server.resume()
            while try await scripts(server) == calls { try await nextTurn() }
            #expect(try await direct.level.get("k") == [1])
            await one.redis.shutDown()
            await direct.redis.shutDown()
        }
    }

    @Test("while a failed removal waits to be repeated an update waits too, and is not removed with it")
    func pending() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try ListInstance(proxy.url, keyspace) { configuration in
                configuration.commandTimeout = .seconds(1)
                configuration.redisBudget = .seconds(1)
            }
            try await one.listen()
            try await one.cache.set([1], for: "k")
            proxy.stall(.toServer)
            await #expect(throws: RedisError.self) { try await one.cache.remove("k") }
            proxy.resume(.toServer)
            proxy.resetConnections()
            while (try? await one.redis.ping()) == nil { try await nextTurn() }
            for number in 2...4 {
                var isDone = false
                while !isDone {
                    let code = await cacheCode {
                        try await one.cache.update("k", within: .seconds(60)) { old in (old ?? []) + [number] }
                    }
                    isDone = code == nil
                }
            }
            #expect(one.redis.outageStatistics.pendingInvalidations == 0)
            #expect(try await one.cache.get("k") == [2, 3, 4])
            await one.redis.shutDown()
            await proxy.stop()
        }
    }
}
