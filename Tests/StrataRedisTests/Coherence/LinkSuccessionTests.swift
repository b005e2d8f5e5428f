import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Keyspaces are added to a link without a gap", .timeLimit(.minutes(1)))
struct LinkSuccessionTests {
    private func instant(_ seconds: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(seconds) * 1_000_000_000)
    }

    private func topics(_ names: String...) -> LinkTopics {
        var topics = LinkTopics()
        for name in names {
            topics.prefixes.append(Keyspace(name).values)
            topics.channels.append(Keyspace(name).events)
        }
        return topics
    }

    @Test("a link of the same topics takes the place of one whose user has changed, also twice in a row")
    func renewal() {
        var succession = LinkSuccession()
        // Nothing stands: the first link is the new user's already, but whoever makes it may have begun before.
        succession.renew()
        #expect(succession.takeOrder(of: 0) == nil && succession.takeOrder(of: 1) == nil)
        succession.want(topics("a"))
        #expect(succession.takeOrder(of: 0) == topics("a"))
        succession.established(0, until: instant(3), at: instant(0))
        #expect(succession.takeOrder(of: 1) == nil)
        succession.renew()
        #expect(succession.takeOrder(of: 1) == topics("a"))
        // Once more while the second is being made.
        succession.renew()
        #expect(succession.takeOrder(of: 0) == nil && succession.takeOrder(of: 1) == nil)
        succession.established(1, until: instant(6), at: instant(3))
        #expect(succession.trusted(0, until: instant(8), told: instant(4)) == true)
        #expect(succession.active == 1)
        // The first is given up before it is made again.
        #expect(succession.takeOrder(of: 0) == LinkTopics())
        #expect(succession.takeOrder(of: 0) == topics("a"))
        #expect(succession.takeOrder(of: 1) == nil)
    }

    @Test("a link that stands goes on until the other has told of everything since")
    func handover() {
        var succession = LinkSuccession()
        succession.want(topics("a"))
        #expect(succession.takeOrder(of: 0) == topics("a"))
        succession.established(0, until: instant(3), at: instant(0))
        succession.want(topics("a", "b"))
        #expect(succession.takeOrder(of: 0) == nil)
        #expect(succession.takeOrder(of: 1) == topics("a", "b"))
        // One more while the second is being made has to wait.
        succession.want(topics("a", "b", "c"))
        #expect(succession.takeOrder(of: 1) == nil)
        succession.established(1, until: instant(6), at: instant(3))
        #expect(succession.active == 0)
        #expect(succession.trusted(0, until: instant(7), told: instant(2)) == false)
        #expect(succession.active == 0)
        #expect(succession.trusted(0, until: instant(8), told: instant(4)) == true)
        #expect(succession.active == 1)
        // The first is free for the one that has waited.
        #expect(succession.takeOrder(of: 0) == topics("a", "b", "c"))
    }

    @Test("the one that tells is lost while the other stands: that takes its place, as after any loss")
    func lost() {
        var succession = LinkSuccession()
        succession.want(topics("a"))
        succession.established(0, until: instant(3), at: instant(0))
        succession.want(topics("a", "b"))
        succession.established(1, until: instant(6), at: instant(3))
        #expect(succession.lost(0) == true)
        #expect(succession.active == 1 && succession.trust[1] == instant(6))
        #expect(succession.lost(1) == false)
        #expect(succession.active == 1)
    }

    @Test("the other is lost before it has taken over: it is made again, and nobody notices")
    func otherLost() {
        var succession = LinkSuccession()
        succession.want(topics("a"))
        succession.established(0, until: instant(3), at: instant(0))
        succession.want(topics("a", "b"))
        succession.established(1, until: instant(6), at: instant(3))
        #expect(succession.lost(1) == false)
        #expect(succession.trusted(0, until: instant(9), told: instant(8)) == false)
        succession.established(1, until: instant(12), at: instant(9))
        #expect(succession.trusted(0, until: instant(12), told: instant(10)) == true)
        #expect(succession.active == 1)
    }

    @Test("a level that is made on a client takes nothing from the memory of others, and hears of changes itself")
    func memory() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server) { $0.linkPingInterval = .milliseconds(50) }
            let first = RedisLevel<Int, Int>(redis, keyspace: Keyspace(TestServer.uniqueName()))
            let memory = MemoryLevel<Int, Int>(limit: .entries(200))
            let cache = memory.compose(first.fetching { $0 })
            try await first.ready()
            for key in 0..<99 { _ = try await cache.get(key) }
            let held = (0..<99).filter { cache.resident($0, at: .now) != nil }
            #expect(held.count == 99)

            let writer = try TestServer.client(of: server)
            for tenant in 0..<5 {
                let keyspace = Keyspace(TestServer.uniqueName())
                let level = RedisLevel<Int, Int>(redis, keyspace: keyspace)
                let others = MemoryLevel<Int, Int>(limit: .entries(10)).compose(level)
                try await level.ready()
                let elsewhere = RedisLevel<Int, Int>(writer, keyspace: keyspace)
                try await elsewhere.set(1, for: tenant)
                #expect(try await others.get(tenant) == 1)
                try await elsewhere.set(2, for: tenant)
                while others.resident(tenant, at: .now)?.value == 1 { try await nextTurn() }
                #expect(try await others.get(tenant) == 2)
            }
            #expect((0..<99).count { cache.resident($0, at: .now) != nil } == 99)
            // They hear of changes as before.
            try await RedisLevel<Int, Int>(writer, keyspace: first.keyspace).set(-1, for: 7)
            while try await cache.get(7) != -1 { try await nextTurn() }
        }
    }

    @Test("a second level of a keyspace hears of changes at once, and the first keeps what it has")
    func sameKeyspace() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server) { $0.linkPingInterval = .seconds(30) }
            let keyspace = Keyspace(TestServer.uniqueName())
            let cache = MemoryLevel<Int, Int>(limit: .entries(10))
                .compose(RedisLevel<Int, Int>(redis, keyspace: keyspace).fetching { $0 })
            #expect(try await cache.get(1) == 1)
            let second = RedisLevel<Int, Int>(redis, keyspace: keyspace)
            try await second.ready()
            #expect(cache.resident(1, at: .now) != nil)
        }
    }

    @Test("the first value that is read on a new client is kept in memory")
    func firstValue() async throws {
        try await RedisServer.withServer { server in
            for round in 0..<20 {
                let redis = try TestServer.client(of: server)
                let cache = MemoryLevel<Int, Int>(limit: .entries(10))
                    .compose(RedisLevel<Int, Int>(redis, keyspace: Keyspace(TestServer.uniqueName())).fetching { $0 })
                #expect(try await cache.get(1) == 1)
                #expect(cache.resident(1, at: .now) != nil, "round \(round)")
            }
        }
    }

    @Test("where no link comes to stand, the first call waits for a moment and goes on")
    func noServer() async throws {
        let redis = try RedisClient("redis://127.0.0.1:1")
        let level = RedisLevel<Int, Int>(redis, keyspace: "nobody")
        #expect(try await level.fetching { $0 }.get(1) == 1)
        #expect(!level.shared.arrival.isPending)
        await #expect(throws: RedisError.self) { try await level.ready(within: .milliseconds(20)) }
    }
}
