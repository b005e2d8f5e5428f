import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

#if ServiceLifecycle
import ServiceLifecycleTestKit
#endif

/// Redis that is away, and processes that end.
extension RedisWritingBehindTests {
    @Test("Redis away: the value is taken, read here, written, and the old one goes everywhere when Redis is back")
    func away() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try ListInstance(proxy.url, keyspace)
            let other = try ListInstance(server.url, keyspace)
            try await other.listen()
            let (cache, reader) = (writer(to: reader(one)), reader(other))
            try await cache.set([1], for: "k")
            try await cache.flush()
            #expect(try await reader.get("k") == [1])
            try proxy.admit(.refuse)
            proxy.resetConnections()
            let gate = AsyncGate()
            source.holdNextWrite(before: gate)
            try await cache.set([2], for: "k")
            await gate.arrivals()
            #expect(try await cache.get("k") == [2])
            #expect(cache.statistics.uncached == 1)
            gate.open()
            try await cache.flush()
            #expect(source.values == ["k": [2]])
            try proxy.admit(.accept)
            while one.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            while try await reader.get("k") != [2] { try await nextTurn() }
            #expect(lost.isEmpty && cache.statistics.untold == 0)
            await one.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("Redis goes while a write is under way: the key is forgotten when it is back")
    func goes() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try ListInstance(proxy.url, keyspace)
            let other = try ListInstance(server.url, keyspace)
            try await other.listen()
            let (cache, reader) = (writer(to: reader(one)), reader(other))
            let gate = AsyncGate()
            source.holdNextWrite(before: gate)
            try await cache.set([2], for: "k")
            await gate.arrivals()
            // The value is lost, another instance fetches the old one, and then Redis is away for the writer.
            try await other.level.remove("k")
            #expect(try await reader.get("k") == [1])
            try proxy.admit(.refuse)
            proxy.resetConnections()
            gate.open()
            try await cache.flush()
            #expect(source.values == ["k": [2]])
            #expect(try await other.level.get("k") == [1])
            try proxy.admit(.accept)
            while one.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            while try await reader.get("k") != [2] { try await nextTurn() }
            await one.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("a process that is killed loses what it had in its queue, and no more than that")
    func killed() async throws {
        try await RedisServer.withServer { server in
            let limit = 20
            let path = try InstanceProcess.builtProduct(named: "StrataTestingInstance")
            let writer = try await InstanceProcess.start(path, arguments: ["behind", server.url, name, String(limit)])
            var taken = 0
            for await line in writer.lines {
                guard let number = Int(line) else { continue }
                taken = number
                if number >= 400 { break }
            }
            _ = try await writer.kill()
            let redis = try TestServer.client(of: server)
            var written = 0
            for number in 1...taken where try await redis.get(RedisKey("source:\(number)")) != nil { written += 1 }
            // What was told to be taken before the kill, less what may have waited.
            #expect(written >= taken - limit && written > 0)
            print("of \(taken) that were taken \(taken - written) were lost, of \(limit) that may be")
            await redis.shutDown()
        }
    }

    #if ServiceLifecycle
    @Test("graceful shutdown writes what is queued, also where memory lies above the writer")
    func shutdown() async throws {
        try await RedisServer.withServer { server in
            let one = try ListInstance(server.url, keyspace)
            let cache = MemoryLevel<String, [Int]>(limit: .entries(100))
                .compose(writer(to: one.level) { $0.delay = .seconds(600) })
            for number in 0..<50 { try await cache.set([number], for: "k\(number)") }
            #expect(source.writes.isEmpty)
            try await testGracefulShutdown { trigger in
                async let service: Void = DrainService(cache, within: .seconds(60)).run()
                trigger.triggerGracefulShutdown()
                try await service
            }
            #expect(source.writes.count == 50 && lost.isEmpty)
            await one.redis.shutDown()
        }
    }
    #endif
}
