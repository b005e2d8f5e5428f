import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Updates whose answer is lost", .leavesNothing, .serialized, .timeLimit(.minutes(5)))
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
            let code = try await outcome
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

    @Test("a change that comes too late is not made, and one of another value neither")
    func late() async throws {
        try await RedisServer.withServer { server in
            let one = try ListInstance(server.url, keyspace)
            let names = one.level.names(for: "k")
            func run(_ script: RedisScript, _ arguments: [[UInt8]]) async throws -> Int64? {
                let command = [Array("EVAL".utf8), Array(script.source.utf8), Array("2".utf8)]
                return try await one.redis.send(command + [names.value.bytes, names.lease.bytes] + arguments).integer
            }
            try await one.level.set([1], for: "k")
            let bytes = try #require(try await one.redis.get(names.value))
            let stamp = Envelope.stamp(of: bytes)
            let (past, future) = (Array("1".utf8), Array("9007199254740991".utf8))
            let (other, own) = (Array("another's version".utf8.prefix(16)), Array("this one's versn".utf8))
            let value = Array("value".utf8)
            let life = Array("60000".utf8)
            #expect(try await run(ChangeScripts.replace, [value, life, past, stamp, own]) == 0)
            #expect(try await run(ChangeScripts.replace, [value, life, future, other, own]) == -2)
            #expect(try await run(ChangeScripts.removeUnchanged, [past, stamp, [], []]) == 0)
            #expect(try await run(ChangeScripts.removeUnchanged, [future, other, [], []]) == -2)
            #expect(try await one.level.get("k") == [1])
            // Its own version: the answer to an earlier call was lost.
            #expect(try await run(ChangeScripts.replace, [value, life, past, other, stamp]) == 1)
            #expect(try await one.level.get("k") == [1])
            #expect(try await run(ChangeScripts.rehead, [value, life, stamp, past, own]) == 0)
            #expect(try await run(ChangeScripts.rehead, [value, life, other, future, own]) == -2)
            #expect(try await run(ChangeScripts.rehead, [value, life, other, past, stamp]) == 1)
            #expect(try await one.level.get("k") == [1])
            #expect(try await run(ChangeScripts.removeUnchanged, [future, stamp, [], []]) == 1)
            #expect(try await one.level.get("k") == nil)
            await one.redis.shutDown()
        }
    }

    @Test("while a failed removal waits to be repeated an update waits too, and is not removed with it")
    func pending() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try ListInstance(proxy.url, keyspace)
            try await one.listen()
            try await one.cache.set([1], for: "k")
            try proxy.admit(.refuse)
            proxy.resetConnections()
            await #expect(throws: RedisError.self) { try await one.cache.remove("k") }
            #expect(one.redis.outageStatistics.pendingInvalidations == 1)
            try proxy.admit(.accept)
            while (try? await one.redis.ping()) == nil { try await nextTurn() }
            for number in 2...4 {
                var isDone = false
                while !isDone {
                    let code = try await cacheCode {
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
