import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Keyspaces are added to a link without a gap", .timeLimit(.minutes(5)))
struct LinkSuccessionTests {
    private func instant(_ seconds: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(seconds) * 1_000_000_000)
    }

    private func topics(_ names: String...) -> LinkTopics {
        var topics = LinkTopics()
        for name in names {
            topics.prefixes.append(Keyspace(name).values)
            topics.prefixes.append(Keyspace(name).tags)
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
        // The first is given up, and then free for the one that has waited.
        #expect(succession.takeOrder(of: 0) == LinkTopics())
        #expect(succession.takeOrder(of: 0) == topics("a", "b", "c"))
    }

    @Test("a link for the other mode is given up when the mode is changed back before it stands")
    func modes() {
        var (all, read) = (topics("a"), topics("a"))
        read.tracksReads = true
        all.tracksReads = false
        var succession = LinkSuccession()
        succession.want(all)
        #expect(succession.takeOrder(of: 0) == all)
        succession.established(0, until: instant(3), at: instant(0))
        succession.want(read)
        #expect(succession.takeOrder(of: 1) == read)
        succession.want(all)
        #expect(succession.takeOrder(of: 1) == LinkTopics())
        #expect(succession.takeOrder(of: 0) == nil && succession.takeOrder(of: 1) == nil)
        // It had stood before it was told.
        succession.established(1, until: instant(6), at: instant(3))
        #expect(succession.trusted(0, until: instant(7), told: instant(4)) == false)
        #expect(succession.active == 0)
    }

    @Test("whatever is wanted and lost, in the end one link stands, and has what is wanted", arguments: 0..<4)
    func walk(_: Int) {
        var random = SplitMix64.announced()
        for _ in 0..<2_000 {
            var succession = LinkSuccession()
            var wanted = LinkTopics()
            var clock = 0
            /// What the drivers have: their topics, and whether their links stand.
            var links = [(topics: LinkTopics(), stands: false), (topics: LinkTopics(), stands: false)]
            func take(_ link: Int) {
                guard let order = succession.takeOrder(of: link), order != links[link].topics else { return }
                if links[link].stands { _ = succession.lost(link) }
                links[link] = (order, false)
            }
            func establish(_ link: Int) {
                guard !links[link].topics.isEmpty, !links[link].stands else { return }
                links[link].stands = true
                succession.established(link, until: instant(clock + 3), at: instant(clock))
            }
            func pong(_ link: Int) {
                guard links[link].stands else { return }
                _ = succession.trusted(link, until: instant(clock + 3), told: instant(clock - 1))
            }
            for _ in 0..<60 {
                clock += 1
                let link = Int.random(in: 0..<2, using: &random)
                switch Int.random(in: 0..<9, using: &random) {
                case 0:
                    wanted = topics("a")
                    if Bool.random(using: &random) { wanted.prefixes += topics("b").prefixes }
                    if Bool.random(using: &random) { wanted.channels += topics("c").channels }
                    wanted.tracksReads = Bool.random(using: &random)
                    succession.want(wanted)
                case 1: succession.renew()
                case 2:
                    guard links[link].stands else { break }
                    links[link].stands = false
                    _ = succession.lost(link)
                case 3, 4: take(link)
                case 5, 6: establish(link)
                default: pong(link)
                }
                #expect(succession.trust[succession.active] == nil || links[succession.active].stands)
            }
            for _ in 0..<12 {
                clock += 1
                for link in 0..<2 { take(link) }
                for link in 0..<2 { establish(link) }
                for link in 0..<2 { pong(link) }
            }
            guard !wanted.isEmpty else { continue }
            let active = links[succession.active]
            #expect(active.stands && active.topics.contains(wanted) && succession.trust[succession.active] != nil)
            #expect(links[succession.spare].topics.isEmpty)
        }
    }

    @Test("the one that tells is lost while the other stands: that takes its place, as after any loss")
    func lost() {
        var succession = LinkSuccession()
        succession.want(topics("a"))
        #expect(succession.takeOrder(of: 0) == topics("a"))
        succession.established(0, until: instant(3), at: instant(0))
        succession.want(topics("a", "b"))
        succession.established(1, until: instant(6), at: instant(3))
        #expect(succession.lost(0) == true)
        #expect(succession.active == 1 && succession.trust[1] == instant(6))
        #expect(succession.lost(1) == false)
        #expect(succession.active == 1)
    }

    @Test("the other is lost before it has taken over: it is made again, and no reader notices")
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
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let cache = memory.compose(first.fetching(options) { $0 })
            try await first.ready(within: .seconds(60))
            for key in 0..<99 { _ = try await cache.get(key) }
            let held = (0..<99).filter { cache.resident($0, at: .now) != nil }
            #expect(held.count == 99)

            let writer = try TestServer.client(of: server)
            for tenant in 0..<5 {
                let keyspace = Keyspace(TestServer.uniqueName())
                let level = RedisLevel<Int, Int>(redis, keyspace: keyspace)
                let others = MemoryLevel<Int, Int>(limit: .entries(10)).compose(level)
                try await level.ready(within: .seconds(60))
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
            let level = RedisLevel<Int, Int>(redis, keyspace: keyspace)
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let cache = MemoryLevel<Int, Int>(limit: .entries(10)).compose(level.fetching(options) { $0 })
            try await level.ready(within: .seconds(60))
            #expect(try await cache.get(1) == 1)
            let second = RedisLevel<Int, Int>(redis, keyspace: keyspace)
            try await second.ready()
            #expect(cache.resident(1, at: .now) != nil)
        }
    }

    @Test("the first value that is read on a new client is kept in memory")
    func firstValue() async throws {
        try await RedisServer.withServer { server in
            var rounds = 0
            while rounds < 20 {
                let redis = try TestServer.client(of: server)
                let cache = MemoryLevel<Int, Int>(limit: .entries(10))
                    .compose(RedisLevel<Int, Int>(redis, keyspace: Keyspace(TestServer.uniqueName())).fetching { $0 })
                let start = ContinuousClock.now
                #expect(try await cache.get(1) == 1)
                // A call waits for a link that begins, and not for one that takes its time.
                guard start.duration(to: .now) < LinkArrival.limit else { continue }
                #expect(cache.resident(1, at: .now) != nil, "round \(rounds)")
                rounds += 1
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
