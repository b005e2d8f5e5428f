import ServiceLifecycle
import ServiceLifecycleTestKit
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// An instance that tells of itself while the body runs.
func withMember(of instance: Instance, _ body: () async throws -> Void) async throws {
    let member = FleetMember()
    member.add(instance.cache, of: instance.level, memory: instance.memory)
    let running = Task { await member.run() }
    let inspector = FleetInspector(instance.redis, instance.level.keyspace)
    let name = instance.redis.configuration.instanceName
    while try await !inspector.instances().instances.contains(where: { $0.record?.name == name }) {
        try await nextTurn()
    }
    let result = await Result { try await body() }
    running.cancel()
    await running.value
    try result.get()
}

extension FleetInspector {
    /// The answers of all, by their names; asked again until none is missing, since a link may be made meanwhile.
    func findings(of key: String, instances count: Int = 1) async throws -> [String: KeyFinding] {
        while true {
            let instances = try await instances().instances
            let answers = try await find(key.keyBytes, in: instances, within: .seconds(2))
            var findings: [String: KeyFinding] = [:]
            for instance in instances {
                if case .content(let finding) = answers[instance.number] {
                    findings[instance.record?.name ?? ""] = finding
                }
            }
            if findings.count == count { return findings }
        }
    }
}

@Suite("Instances that tell of themselves", .timeLimit(.minutes(5)))
struct FleetMemberTests {
    private let keyspace: Keyspace = "things"

    private func instance(_ server: RedisServer, _ name: String, user: String? = nil) throws -> Instance {
        try Instance(server.url, keyspace) { configuration in
            configuration.instanceName = name
            configuration.username = user
            configuration.password = user.map { _ in Secret("pw") }
        }
    }

    @Test("they are listed with name, release, counters by level and the state of link and breakers")
    func listed() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server, "web-1/7")
            let two = try instance(server, "web-2/8")
            for instance in [one, two] { try await instance.listen() }
            try await one.cache.set("v", for: "a")
            for _ in 0..<3 { _ = try await one.cache.get("a") }
            _ = try await one.cache.get("b")
            try await withMember(of: one) {
                try await withMember(of: two) {
                    let listing = try await FleetInspector(two.redis, keyspace).instances()
                    #expect(!listing.more)
                    #expect(listing.instances.map { $0.record?.name } == ["web-1/7", "web-2/8"])
                    let record = try #require(listing.instances[0].record)
                    #expect(record.version == StrataVersion.current && record.host == InstanceName.host)
                    #expect(record.process == InstanceName.process && record.uptime >= 0 && record.link == nil)
                    let figures = InstanceFigures(record)
                    #expect(figures.reads.map(\.level) == ["memory", "redis"])
                    #expect(figures.reads[0].reads.hits == 3 && figures.reads[0].reads.misses == 1)
                    #expect(figures.requests == 4 && figures.entries == 1 && figures.limit == 100)
                    #expect(figures.openBreakers.isEmpty && !figures.isUntrusted)
                    let left = listing.instances[0].timeLeft
                    #expect(left > .zero && left <= .seconds(15))
                    #expect(try await FleetInspector.keyspaces(two.redis, prefix: "strata") == [keyspace])
                    #expect(try await FleetInspector.keyspaces(two.redis, prefix: "other").isEmpty)
                }
            }
            // Nothing is left behind for ever.
            for name in try await two.redis.keys(beginningWith: keyspace.instances.bytes).reduce(into: [], { $0 += $1 })
            {
                #expect(try await two.redis.timeToLive(of: name) != .unlimited, "\(name)")
            }
        }
    }

    @Test("an instance that comes rarely stays on the list when one that comes often has come and gone")
    func intervals() async throws {
        try await RedisServer.withServer { server in
            let (rare, often) = (try instance(server, "rare"), try instance(server, "often"))
            let member = FleetMember(interval: .seconds(60))
            member.add(rare.cache, of: rare.level, memory: rare.memory)
            let running = Task { await member.run() }
            let inspector = FleetInspector(rare.redis, keyspace)
            while try await inspector.instances().instances.isEmpty { try await nextTurn() }
            try await withMember(of: often) {}
            guard case .remaining(let left) = try await rare.redis.timeToLive(of: keyspace.instances) else {
                Issue.record("the list has an end")
                return
            }
            #expect(left > .seconds(60))
            running.cancel()
            await running.value
        }
    }

    @Test("an instance that ends in order is off the list at once")
    func leaves() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server, "web-1/7")
            let inspector = FleetInspector(one.redis, keyspace)
            try await testGracefulShutdown { trigger in
                let member = FleetMember()
                member.add(one.cache, of: one.level, memory: one.memory)
                async let service: Void = member.run()
                while try await inspector.instances().instances.first?.record == nil { try await nextTurn() }
                trigger.triggerGracefulShutdown()
                await service
            }
            #expect(try await inspector.instances().instances.isEmpty)
            #expect(try await one.redis.exists(keyspace.instances) == 0)
        }
    }

    @Test("a cache that is added meanwhile is listed; one that is removed is off its list at once, and let go")
    func removed() async throws {
        try await RedisServer.withServer { server in
            let stays = try Instance(server.url, "others") { $0.instanceName = "web-1/7" }
            let others = FleetInspector(stays.redis, "others")
            let inspector = FleetInspector(stays.redis, keyspace)
            let member = FleetMember(interval: .seconds(60))
            member.add(stays.cache, of: stays.level, memory: stays.memory)
            weak var gone: RedisLevel<String, String>?
            let running = Task { await member.run() }
            while try await others.instances().instances.first?.record == nil { try await nextTurn() }
            do {
                let goes = try instance(server, "web-1/7")
                gone = goes.level
                member.add(goes.cache, of: goes.level, memory: goes.memory)
                while try await inspector.instances().instances.first?.record == nil { try await nextTurn() }
                #expect(member.remove(keyspace))
                #expect(!member.remove(keyspace))
            }
            // By itself the record would stay for minutes.
            while try await stays.redis.exists(keyspace.instances) > 0 { try await nextTurn() }
            while gone != nil { try await nextTurn() }
            #expect(try await others.instances().instances.count == 1)
            running.cancel()
            await running.value
            // Before it runs, too.
            do {
                let goes = try instance(server, "web-1/7")
                gone = goes.level
                member.add(goes.cache, of: goes.level, memory: goes.memory)
                #expect(member.remove(keyspace))
            }
            while gone != nil { try await nextTurn() }
        }
    }

    @Test("what memory holds of a key is told without the value: fresh, void by what, absent, or not to be found")
    func findings() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server, "web-1/7")
            let other = try instance(server, "web-2/8")
            for instance in [one, other] { try await instance.listen() }
            try await one.cache.set("v", for: "ä 1", tags: ["red", "blue"])
            try await withMember(of: one) {
                let inspector = FleetInspector(other.redis, keyspace)
                let fresh = try #require(try await inspector.findings(of: "ä 1")["web-1/7"])
                #expect(fresh.state == "fresh" && fresh.tags == 2 && fresh.weight == 1 && !fresh.isAbsence)
                // The lifetime of the policy, though the set named none.
                #expect(try (1...300_000).contains(#require(fresh.freshFor)) && fresh.staleFor != nil)
                #expect(try #require(fresh.age) >= 0)
                // Looking is no use of the entry.
                #expect(one.memory.statistics.hits == 0 && one.memory.statistics.misses == 0)
                try await other.cache.invalidate(tag: "red")
                while try await inspector.findings(of: "ä 1")["web-1/7"]?.state != "voidByTag" { try await nextTurn() }
                try await one.cache.set("v", for: "b")
                #expect(try await inspector.findings(of: "b")["web-1/7"]?.state == "fresh")
                try await other.cache.set("w", for: "b")
                while try await inspector.findings(of: "b")["web-1/7"]?.state != "voidByChange" { try await nextTurn() }
                #expect(try await inspector.findings(of: "c")["web-1/7"]?.state == "absent")
            }
        }
    }

    @Test("keys are read through the cache of the instance that is asked, and of no other")
    func warm() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server, "web-1/7")
            let two = try instance(server, "web-2/8")
            for instance in [one, two] { try await instance.listen() }
            try await two.level.set("v", for: "there")
            try await withMember(of: one) {
                try await withMember(of: two) {
                    let inspector = FleetInspector(two.redis, keyspace)
                    let listed = try await inspector.instances().instances
                    let keys = [Array("there".utf8), Array("nowhere".utf8), [0xff]]
                    var answer: WarmAnswer?
                    // A link may be made meanwhile.
                    while answer == nil {
                        let found = try await inspector.warm(keys, by: listed[0], within: .seconds(10))
                        if case .content(let content) = found { answer = content }
                    }
                    #expect(answer?.outcomes == [.found, .absent, .unreadable])
                    #expect(one.remembers("there") == "v" && two.remembers("there") == nil)
                }
            }
        }
    }

    @Test("an instance tells which invalidations it knows of; one without a link tells of none")
    func numbers() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server, "web-1/7")
            try await one.listen()
            try await withMember(of: one) {
                let inspector = FleetInspector(one.redis, keyspace)
                let numbers = try await KeyspaceInspector(one.redis, keyspace).invalidate(tags: ["red"])
                #expect(numbers.count == 1)
                let listed = try await inspector.instances().instances
                while true {
                    let answers = try await inspector.figures(of: listed, hottest: 0, within: .seconds(10))
                    guard case .content(let record) = answers[listed[0].number] else { continue }
                    // The message came before the question.
                    #expect(try #require(record.numbers?.first) >= numbers[0])
                    break
                }
            }
        }
    }

    @Test("figures come at once, with the hottest keys and how long calls take")
    func figures() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server, "web-1/7")
            try await one.listen()
            for key in ["a", "b\u{1b}", "c"] { try await one.cache.set("v", for: key) }
            try await withMember(of: one) {
                for _ in 0..<5 { _ = try await one.cache.get("b\u{1b}") }
                for _ in 0..<20 { _ = try await one.level.get("a") }
                let inspector = FleetInspector(one.redis, keyspace)
                let instances = try await inspector.instances().instances
                while true {
                    let answers = try await inspector.figures(of: instances, hottest: 2, within: .seconds(2))
                    guard case .content(let record) = answers[instances[0].number] else { continue }
                    #expect(record.hottest?.count == 2 && record.hottest?.first == "b\\x1b")
                    let calls = try #require(record.durations["call"])
                    #expect(calls.count >= 20 && calls.median > 0)
                    #expect(calls.median <= calls.p95 && calls.p95 <= calls.p99)
                    break
                }
            }
        }
    }

    @Test(
        "instances need no more than a cache does, and who asks needs the purpose 'inspect'; the server refuses nothing"
    )
    func rights() async throws {
        let users = [
            "user cache on >pw \(AccessRules(for: [.cache], keyspaces: [keyspace]))",
            "user asker on >pw \(AccessRules(for: [.inspect], keyspaces: [keyspace], serverVersion: 7))",
            "user looker on >pw \(AccessRules(for: [.look], keyspaces: [keyspace], serverVersion: 7))",
        ]
        let directives = users.map { RedisServer.Directive(stringLiteral: $0) }
        try await RedisServer.withServer(.init(directives: directives)) { server in
            let one = try instance(server, "web-1/7", user: "cache")
            let asker = try TestServer.client(of: server) { ($0.username, $0.password) = ("asker", Secret("pw")) }
            let looker = try TestServer.client(of: server) { ($0.username, $0.password) = ("looker", Secret("pw")) }
            try await one.listen()
            try await one.cache.set("v", for: "a")
            try await withMember(of: one) {
                #expect(try await FleetInspector(asker, keyspace).findings(of: "a")["web-1/7"]?.state == "fresh")
                try await KeyspaceWatch(asker, keyspace)
                    .listening { events in
                        var heard = events.makeAsyncIterator()
                        while let event = await heard.next(), event != .listening {}
                        try await one.cache.remove("a")
                        let removed = WatchEvent.removed(InspectedKey("a".keyBytes, in: keyspace))
                        while let event = await heard.next(), event != removed {}
                    }
                let log = try await server.command("ACL", "LOG").text
                #expect(!log.contains("reason"), "\(log)")
                // Who may only look sees the list, and cannot ask.
                let inspector = FleetInspector(looker, keyspace)
                let instances = try await inspector.instances().instances
                #expect(instances.map { $0.record?.name } == ["web-1/7"])
                let error = await #expect(throws: RedisError.self) {
                    try await inspector.find("a".keyBytes, in: instances, within: .seconds(1))
                }
                #expect(error?.serverCode == "NOPERM")
            }
        }
    }

    @Test("in a cluster the list lies in one slot, and each question is answered once")
    func cluster() async throws {
        let cluster = try await TestCluster.shared()
        let keyspace = Keyspace(TestServer.uniqueName())
        let one = try ClusterInstance(cluster, keyspace) { $0.instanceName = "web-1/7" }
        try await one.level.ready(within: .seconds(60))
        let member = FleetMember()
        let memory = MemoryLevel<String, String>(limit: .entries(10))
        let cache = memory.compose(one.level)
        member.add(cache, of: one.level, memory: memory)
        let running = Task { await member.run() }
        for number in 0..<8 { try await cache.set("v", for: "key-\(number)") }
        let inspector = FleetInspector(one.redis, keyspace)
        while try await inspector.instances().instances.first?.record == nil { try await nextTurn() }
        for number in 0..<8 {
            #expect(try await inspector.findings(of: "key-\(number)")["web-1/7"]?.state == "fresh")
        }
        // What all primaries tell comes once.
        let (events, took) = try await KeyspaceWatch(one.redis, keyspace)
            .listening { events in
                var heard = events.makeAsyncIterator()
                while let event = await heard.next(), event != .listening {}
                let start = MonotonicInstant.now
                for number in 0..<8 { try await cache.remove("key-\(number)") }
                try await cache.invalidate(tag: "red")
                try await cache.clear()
                var all: [WatchEvent] = []
                while let event = await heard.next() {
                    all.append(event)
                    if event == .cleared { break }
                }
                return (all, start.duration(to: .now))
            }
        // A copy that comes over a second later, on a busy machine, is news again.
        let copies = took < .milliseconds(900) ? 1...1 : 1...cluster.primaries.count
        for number in 0..<8 {
            let removed = WatchEvent.removed(InspectedKey("key-\(number)".keyBytes, in: keyspace))
            #expect(copies.contains(events.count { $0 == removed }))
        }
        #expect(copies.contains(events.count { $0 == .tags(["red"]) }))
        running.cancel()
        await running.value
    }
}
