import Strata
import StrataTesting
import Testing

@testable import StrataRedis

extension Instance {
    /// Removes the connections for commands at the server, and not the link.
    func killCommands(at server: RedisServer) async throws {
        for line in try await clients(at: server) where !line.subscribes {
            try await server.command("CLIENT", "KILL", "ID", line.id)
        }
    }

    /// The connections of this instance at the server.
    private func clients(at server: RedisServer) async throws -> [(id: String, subscribes: Bool)] {
        try await server.command("CLIENT", "LIST").text.split(separator: "\n")
            .filter { $0.contains("@\(redis.configuration.instanceName) ") }
            .compactMap { line in
                line.split(separator: " ").first.map { (String($0.dropFirst(3)), !line.contains(" sub=0 ")) }
            }
    }
}

@Suite("Redis tells only those who have read a key", .leavesNothing, .timeLimit(.minutes(5)))
struct KeyTrackingTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func instance(
        _ url: String,
        _ name: String = "one",
        connections: Int = 1,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> Instance {
        try Instance(url, keyspace) {
            $0.tracking = .perKey
            $0.instanceName = name
            $0.connections = connections
            $0.reconnectDelay = .milliseconds(1) ... .milliseconds(10)
            adjust(&$0)
        }
    }

    /// The ways by which a value gets into memory.
    enum Way: CaseIterable {
        case read, set, fetched, updated, setIfAbsent, compared, touched
    }

    private func fill(_ way: Way, _ one: Instance, _ other: Instance) async throws {
        let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
        let cache = one.memory.compose(one.level.fetching(options) { _ in "old" })
        switch way {
        case .read:
            try await other.level.set("old", for: "k")
            #expect(try await one.cache.get("k") == "old")
        case .set: try await one.cache.set("old", for: "k")
        case .fetched: #expect(try await cache.get("k") == "old")
        case .updated: _ = try await one.cache.update("k") { _ in "old" }
        case .setIfAbsent:
            _ = try await one.cache.setIfAbsent("old", for: "k", lifetime: EntryLifetime(freshFor: .seconds(60)))
        case .compared: #expect(try await one.cache.compareAndSet("k", from: nil, to: "old"))
        case .touched:
            try await one.cache.set("old", for: "k")
            #expect(try await one.cache.touch("k", lifetime: EntryLifetime(freshFor: .seconds(60))))
            #expect(try await one.cache.get("k") == "old")
        }
        // What was written a moment ago may be told once more.
        var kept = one.remembers("k")
        while kept == nil {
            _ = try await one.cache.get("k")
            kept = one.remembers("k")
        }
        #expect(kept == "old", "\(way)")
    }

    @Test(
        "whatever has brought a value into memory, a change by another program is told",
        arguments: Way.allCases,
        [1, 2]
    )
    func ways(_ way: Way, connections: Int) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (
                try instance(server.url, connections: connections), try instance(server.url, "other")
            )
            try await one.listen()
            for change in [["DEL"], ["SET", "x"], ["PEXPIRE", "1"], ["RENAME", "elsewhere"]] {
                try await fill(way, one, other)
                // So that the notices of these writes have come before the change.
                try await one.redis.ping()
                let name = one.level.names(for: "k").value.bytes
                try await server.command(
                    bytes: [Array(change[0].utf8), name] + change.dropFirst().map { Array($0.utf8) }
                )
                while one.remembers("k") != nil { try await one.redis.ping() }
                try await server.command(bytes: [Array("DEL".utf8), name])
                try await one.memory.removeAll()
            }
            try await fill(way, one, other)
            try await server.command("FLUSHALL")
            while one.remembers("k") != nil { try await one.redis.ping() }
        }
    }

    @Test("what an instance has not read is not told to it, and costs it nothing")
    func unread() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(server.url), try instance(server.url, "other"))
            try await one.listen()
            try await other.level.set("old", for: "mine")
            #expect(try await one.cache.get("mine") == "old")
            for number in 0..<100 { try await other.level.set("value", for: "theirs \(number)") }
            try await other.level.set("new", for: "mine")
            await one.hears("mine")
            #expect(one.changes.count { if case .changed = $0 { true } else { false } } == 1)
            #expect(one.remembers("mine") == nil)
            #expect(try await one.cache.get("mine") == "new")
        }
    }

    @Test("a removal, tags and a clear reach memory as they do when every change is told")
    func invalidations() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(server.url), try instance(server.url, "other"))
            for instance in [one, other] { try await instance.listen() }
            for key in ["removed", "tagged", "cleared"] {
                try await other.cache.set("old", for: key, tags: key == "tagged" ? ["tag"] : [])
                #expect(try await one.cache.get(key) == "old")
                #expect(one.remembers(key) == "old")
            }
            try await other.cache.remove("removed")
            while one.remembers("removed") != nil { try await one.redis.ping() }
            try await other.cache.invalidate(tag: "tag")
            while one.remembers("tagged") != nil { try await one.redis.ping() }
            #expect(one.remembers("cleared") == "old")
            try await other.cache.clear()
            while one.remembers("cleared") != nil { try await one.redis.ping() }
        }
    }

    @Test("a fetch elsewhere wakes those who wait for it")
    func waiters() async throws {
        let gate = AsyncGate()
        // Whoever is not woken waits longer than the test may last.
        let options = LeaseOptions(duration: .seconds(600), renewalLimit: .seconds(6_000))
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(server.url), try instance(server.url, "other"))
            for instance in [one, other] { try await instance.listen() }
            let fetching = other.memory.compose(
                other.level.fetching(options) { _ in
                    try await gate.pass()
                    return "fetched"
                }
            )
            let waiting = one.memory.compose(one.level.fetching(options) { _ in "a second fetch" })
            async let theirs = fetching.get("k")
            await gate.arrivals()
            async let mine = waiting.get("k")
            let name = one.level.names(for: "k").value.bytes
            while one.level.shared.waiters.awaiting(name).isEmpty { try await nextTurn() }
            gate.open()
            #expect(try await theirs == "fetched")
            #expect(try await mine == "fetched")
        }
    }

    @Test("a connection for commands is lost: what was read there is not relied on", arguments: [1, 3])
    func lostConnection(connections: Int) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (
                try instance(server.url, connections: connections), try instance(server.url, "other")
            )
            try await one.listen()
            for number in 0..<10 {
                try await other.level.set("old", for: "\(number)")
                #expect(try await one.cache.get("\(number)") == "old")
            }
            let before = one.changes.count { $0 == .listening }
            try await one.killCommands(at: server)
            // No client is told of these.
            for number in 0..<10 { try await other.level.set("new", for: "\(number)") }
            await one.wait { $0.count { $0 == .listening } > before }
            // Others of the connections may only now be found to be lost, and a call is sent twice at most.
            for number in 0..<10 {
                while one.remembers("\(number)") == nil {
                    do { #expect(try await one.cache.get("\(number)") == "new") } catch is RedisError {}
                }
                try await other.level.set("newer", for: "\(number)")
                while one.remembers("\(number)") != nil {
                    do { try await one.redis.ping() } catch is RedisError {}
                }
            }
        }
    }

    @Test("a connection that is made anew and not tracked: what it reads is not relied on, though the link stands")
    func refusedAnew() async throws {
        try await RedisServer.withServer { server in
            // What is kept meanwhile lives for as long as a lost link goes unnoticed.
            let one = try instance(server.url) { $0.linkPingTimeout = .seconds(1) }
            let other = try instance(server.url, "other")
            try await one.listen()
            try await other.level.set("old", for: "k")
            try await other.level.set("old", for: "l")
            #expect(try await one.cache.get("k") == "old")
            // The link stands, and asks for nothing more.
            try await server.command("ACL", "SETUSER", "default", "-client|tracking")
            try await one.killCommands(at: server)
            // Memory keeps it, by whatever it trusts.
            while one.remembers("l") == nil { #expect(try await one.cache.get("l") == "old") }
            try await other.level.set("new", for: "l")
            while try await one.cache.get("l") != "new" { try await nextTurn() }
        }
    }

    @Test("a connection for commands is silent while the link answers: memory is not trusted past its time")
    func silentConnection() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try instance(proxy.url) {
                $0.linkPingInterval = .milliseconds(100)
                $0.linkPingTimeout = .seconds(10)
                $0.healthWindow = .seconds(600)
            }
            try await one.listen()
            try await one.cache.set(String(repeating: "x", count: 50_000), for: "large")
            let connections = proxy.snapshot.connections.sorted { $0.toServer.received > $1.toServer.received }
            try #require(connections.count == 2)
            let (commands, link) = (connections[0].id, connections[1].id)
            try await one.cache.set("old", for: "k")
            #expect(one.remembers("k") == "old")
            proxy.stall(.both, of: .connection(commands))
            while one.remembers("k") != nil { try await nextTurn() }
            #expect(proxy.snapshot.connections.contains { $0.id == link }, "the link was not lost")
            proxy.resume()
            while one.level.shared.gate.trustedUntil < .now { try await nextTurn() }
            await one.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("what memory keeps though nothing was read of it in Redis: its later changes are told")
    func pastRedis() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(server.url), try instance(server.url, "other"))
            try await one.listen()
            let cache = one.memory.compose(one.level.fetching { _ in "old" })
            let past = ReadOptions(skipsReading: [.memory, .redis], skipsFilling: [.redis])
            for number in 0..<20 {
                let key = "\(number)"
                #expect(try await cache.get(key, past) == "old")
                #expect(cache.resident(key, at: .coarse)?.value == "old")
                try await other.level.set("new", for: key)
                while cache.resident(key, at: .coarse)?.value == "old" { try await one.redis.ping() }
                #expect(try await cache.get(key) == "new")
            }
            await one.redis.shutDown()
            await other.redis.shutDown()
        }
    }

    @Test("the server's table is full: what it takes out is told")
    func fullTable() async throws {
        try await RedisServer.withServer(.init(directives: ["tracking-table-max-keys 10"])) { server in
            let (one, other) = (try instance(server.url), try instance(server.url, "other"))
            try await one.listen()
            for number in 0..<50 {
                try await other.level.set("old", for: "\(number)")
                #expect(try await one.cache.get("\(number)") == "old")
            }
            for number in 0..<50 { try await other.level.set("new", for: "\(number)") }
            for number in 0..<50 {
                while let value = one.remembers("\(number)"), value != "new" { try await one.redis.ping() }
                #expect(try await one.cache.get("\(number)") == "new")
            }
        }
    }

    @Test("a level with another keyspace is added while changes are told: memory keeps what it has, and is told on")
    func anotherKeyspace() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(server.url), try instance(server.url, "other"))
            try await one.listen()
            try await one.cache.set("old", for: "k")
            #expect(one.remembers("k") == "old")
            for round in 0..<3 {
                let more = RedisLevel<String, String>(
                    one.redis,
                    keyspace: Keyspace("\(TestServer.uniqueName())-\(round)"),
                    codec: .text
                )
                let memory = MemoryLevel<String, String>(limit: .entries(10))
                let cache = memory.compose(more)
                while !more.shared.isKnown {
                    try await one.redis.ping()
                    #expect(one.remembers("k") == "old")
                }
                try await cache.set("\(round)", for: "k")
                #expect(cache.resident("k", at: .coarse)?.value == "\(round)")
                // The link before has ended when the server has one of this instance again.
                try await server.command(bytes: [Array("DEL".utf8), more.names(for: "k").value.bytes])
                while cache.resident("k", at: .coarse) != nil { try await one.redis.ping() }
            }
            #expect(one.changes.count { $0 == .untrusted } == 0)
            try await other.level.set("new", for: "k")
            while one.remembers("k") != nil { try await one.redis.ping() }
        }
    }

    @Test("between the modes and back: what was read in the other mode is told, or begins anew")
    func modes() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(server.url), try instance(server.url, "other"))
            try await one.listen()
            for reads in [false, true, false, true] {
                try await one.cache.set("old", for: "k")
                #expect(one.remembers("k") == "old")
                one.redis.link.track(reads: reads)
                while one.redis.link.isTracking != reads {
                    try await one.redis.ping()
                    if let value = one.remembers("k") { #expect(value == "old") }
                }
                // What was read before is not in the server's table.
                while reads, one.remembers("k") != nil { try await one.redis.ping() }
                #expect(try await one.cache.get("k") == "old")
                #expect(one.remembers("k") == "old")
                try await other.level.set("new", for: "k")
                while one.remembers("k") != nil { try await one.redis.ping() }
                #expect(try await one.cache.get("k") == "new")
            }
        }
    }

    @Test("modes, losses and writers at random: at rest, memory holds what Redis holds")
    func random() async throws {
        var random = SplitMix64.announced()
        try await RedisServer.withServer { server in
            let instances = try (0..<3)
                .map { number in
                    try instance(server.url, "instance-\(number)", connections: 1 + number)
                }
            for instance in instances { try await instance.listen() }
            let keys = (0..<20).map { "\($0)" }
            var version = 0
            for _ in 0..<2_000 {
                let instance = instances[Int.random(in: 0..<3, using: &random)]
                let key = keys[Int.random(in: 0..<keys.count, using: &random)]
                version += 1
                switch Int.random(in: 0..<200, using: &random) {
                case 0: instance.redis.link.track(reads: .random(using: &random))
                case 1: try await instance.killCommands(at: server)
                case 2: try await server.command("CLIENT", "KILL", "TYPE", "pubsub")
                case 3: try await server.command("FLUSHALL")
                case 4..<60:
                    // A call whose connection is lost may have been applied or not.
                    try? await instance.cache.set("\(version)", for: key)
                case 60..<80: try? await instance.cache.remove(key)
                case 80..<100: try? await instance.level.set("\(version)", for: key)
                default: _ = try? await instance.cache.get(key)
                }
            }
            for instance in instances {
                while !instance.level.shared.isKnown {
                    try Task.checkCancellation()
                    try? await instance.redis.ping()
                }
            }
            for key in keys {
                var truth: String??
                while truth == nil {
                    try Task.checkCancellation()
                    truth = try? await instances[0].level.get(key)
                }
                for instance in instances {
                    // Connections that were killed last may still be on their way out.
                    while let value = instance.remembers(key), value != truth ?? nil {
                        try Task.checkCancellation()
                        try? await instance.redis.ping()
                    }
                }
            }
        }
    }
}
