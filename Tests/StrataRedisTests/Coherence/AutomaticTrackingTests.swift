import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The mode of tracking that costs the server less is chosen", .timeLimit(.minutes(5)))
struct AutomaticTrackingTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// Lets intervals pass in which others change what the instance has not read, until it is told of single keys;
    /// returns when the last has ended.
    @discardableResult
    private func crowd(_ one: Instance, _ other: Instance) async throws -> MonotonicInstant {
        let meter = try #require(one.redis.cache.meter)
        // Far ahead: the link looks by the clock, and on a slow machine it would end intervals of this test.
        var now = MonotonicInstant.now.advanced(by: .seconds(100_000))
        meter.look(at: now)
        var round = 0
        while one.redis.tracking != .perKey {
            round += 1
            for number in 0..<800 { try await other.level.set("value", for: "theirs \(number)") }
            try await other.level.set("value", for: "last \(round)")
            await one.hears("last \(round)")
            now = now.advanced(by: .seconds(10))
            meter.look(at: now)
        }
        return now
    }

    @Test("many changes of what was not read, then many of what was: per key, and back; memory is told in each mode")
    func chosen() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace) { $0.tracking = .automatic }
            let other = try Instance(server.url, keyspace)
            try await one.listen()
            #expect(one.redis.tracking == .broadcast && !one.redis.link.isTracking)
            try await one.cache.set("old", for: "k")
            var now = try await crowd(one, other)
            while !one.redis.link.isTracking { try await one.redis.ping() }
            while one.remembers("k") != nil { try await one.redis.ping() }
            #expect(try await one.cache.get("k") == "old")
            #expect(one.remembers("k") == "old")
            try await other.level.set("new", for: "k")
            while one.remembers("k") != nil { try await one.redis.ping() }

            let meter = try #require(one.redis.cache.meter)
            now = now.advanced(by: .seconds(100))
            meter.look(at: now)
            while one.redis.tracking != .broadcast {
                for number in 0..<200 {
                    _ = try await one.cache.get("k")
                    try await other.level.set("\(number)", for: "k")
                    while one.remembers("k") != nil { try await one.redis.ping() }
                }
                now = now.advanced(by: .seconds(10))
                meter.look(at: now)
            }
            while one.redis.link.isTracking { try await one.redis.ping() }
            #expect(try await one.cache.get("k") == "199")
            try await other.level.set("newest", for: "k")
            while one.remembers("k") != nil { try await one.redis.ping() }
            #expect(one.changes.count { $0 == .untrusted } == 0)
        }
    }

    @Test("a server that does not remember what is read: every change is told, and the mode says so")
    func refused() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace) { $0.tracking = .automatic }
            let other = try Instance(server.url, keyspace)
            try await one.listen()
            try await crowd(one, other)
            while !one.redis.link.isTracking { try await one.redis.ping() }
            one.redis.link.refuseTracking("ERR unknown")
            #expect(one.redis.tracking == .broadcast)
            while one.redis.link.isTracking { try await one.redis.ping() }
        }
    }

    @Test("what is fixed stays as it is")
    func fixed() throws {
        for mode in [TrackingMode.broadcast, .perKey] {
            let one = try Instance("redis://localhost:1", keyspace) { $0.tracking = mode }
            #expect(one.redis.cache.meter == nil && one.redis.tracking == mode)
        }
    }

    @Test("in a cluster all nodes change the mode, and one that is met later has it")
    func cluster() async throws {
        let cluster = try await TestCluster.shared()
        let one = try Instance(cluster.url, keyspace) { $0.tracking = .automatic }
        let other = try Instance(cluster.url, keyspace)
        try await one.listen()
        try await crowd(one, other)
        let nodes = try #require(one.redis.cluster?.view?.nodes)
        for node in nodes {
            while node.existing?.link.isTracking != true { try await one.redis.ping() }
        }
        for number in 0..<30 {
            try await other.level.set("old", for: "k\(number)")
            while one.remembers("k\(number)") == nil { _ = try await one.cache.get("k\(number)") }
        }
        for number in 0..<30 {
            try await other.level.set("new", for: "k\(number)")
            while one.remembers("k\(number)") == "old" { try await one.redis.ping() }
        }
        // One node cannot remember what is read.
        nodes[0].existing?.link.refuseTracking("ERR unknown")
        #expect(one.redis.tracking == .broadcast)
        for node in nodes {
            while node.existing?.link.isTracking == true { try await one.redis.ping() }
        }
    }
}
