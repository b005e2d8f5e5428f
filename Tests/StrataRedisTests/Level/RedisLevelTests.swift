import Strata
import StrataTesting
import Testing

@testable import StrataRedis

struct Product: Codable, Sendable, Equatable {
    var id: Int
    var name: String
    var price: Double
}

@Suite("A level in Redis")
struct RedisLevelTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test("a value comes back, also to another instance, and is gone after a remove")
    func roundTrip() async throws {
        let redis = try await TestServer.client()
        let one = RedisLevel<Int, Product>(redis, keyspace: keyspace)
        let other = RedisLevel<Int, Product>(try await TestServer.client(), keyspace: keyspace)
        let product = Product(id: 42, name: "kettle ☕️", price: 19.5)
        #expect(try await one.get(42) == nil)
        try await one.set(product, for: 42)
        #expect(try await other.get(42) == product)
        try await other.remove(42)
        #expect(try await one.get(42) == nil)
        try await one.remove(42)
    }

    @Test("raw bytes and text")
    func codecs() async throws {
        let redis = try await TestServer.client()
        let bytes = RedisLevel<String, [UInt8]>(redis, keyspace: keyspace, codec: .bytes)
        try await bytes.set([0, 13, 10, 255], for: "b")
        #expect(try await bytes.get("b") == [0, 13, 10, 255])
        let text = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
        try await text.set("grüße", for: "t")
        #expect(try await text.get("t") == "grüße")
        // Another codec's bytes are never given to a decoder.
        #expect(try await text.get("b") == nil)
        #expect(text.statistics.unusable == 1)
        try await bytes.clear()
    }

    @Test("hostile keys come back with their own value, never with another's")
    func hostileKeys() async throws {
        let level = RedisLevel<[UInt8], [UInt8]>(try await TestServer.client(), keyspace: keyspace, codec: .bytes)
        let texts = ["", "a\r\nb", "\0", "🙂", "{}", "{a}", "}", "%", "%7B", "*?[", "%#", ":", "a:b"]
        let keys = texts.map { Array($0.utf8) } + [[0xff], [0xff, 0xfe], Array(repeating: 97, count: 1 << 20)]
        for (index, key) in keys.enumerated() { try await level.set([UInt8(index)], for: key) }
        for (index, key) in keys.enumerated() { #expect(try await level.get(key) == [UInt8(index)]) }
        #expect(try await level.get(keys) == keys.indices.map { [UInt8($0)] })
        try await level.clear()
        for key in keys { #expect(try await level.get(key) == nil) }
    }

    @Test("several keys take one MGET")
    func batch() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let level = RedisLevel<Int, Product>(redis, keyspace: keyspace)
            for id in [1, 3] { try await level.set(Product(id: id, name: "n", price: 1), for: id) }
            try await server.command("CONFIG", "RESETSTAT")
            let found = try await level.get([3, 2, 1, 3])
            #expect(found.map { $0?.id } == [3, nil, 1, 3])
            let calls = try await redis.info("commandstats")
            #expect(calls["cmdstat_mget"]?.hasPrefix("calls=1,") == true)
            #expect(calls["cmdstat_get"] == nil)
        }
    }

    @Test("a clear removes this keyspace's keys and no other's")
    func clear() async throws {
        let redis = try await TestServer.client()
        let level = RedisLevel<Int, String>(redis, keyspace: keyspace)
        let neighbour = RedisLevel<Int, String>(redis, keyspace: Keyspace(keyspace.name + "-2"))
        let foreign = RedisKey(keyspace.description + ":x:1")
        for id in 0..<700 { try await level.set("v", for: id) }
        try await neighbour.set("v", for: 1)
        try await redis.set(foreign, [1], expiringIn: .seconds(60))
        try await level.clear()
        for id in [0, 350, 699] { #expect(try await level.get(id) == nil) }
        #expect(try await neighbour.get(1) == "v")
        #expect(try await redis.get(foreign) == [1])
        try await neighbour.clear()
        try await redis.delete(foreign)
    }

    @Test("bytes that are no envelope of the key are a miss with a counter, and stay where they are")
    func corrupt() async throws {
        let redis = try await TestServer.client()
        let level = RedisLevel<String, String>(redis, keyspace: keyspace)
        try await level.set("right", for: "k")
        let name = keyspace.names(for: "k".keyBytes).value
        let whole = try #require(try await redis.get(name))
        var future = whole
        future[3] = 9
        var damaged = whole
        damaged[whole.count - 1] ^= 1
        let other = try #require(try await redis.get(name))
        let strange: [(String, [UInt8])] = [
            ("a", []), ("b", Array("not ours".utf8)), ("c", Array(whole.prefix(40))), ("d", future), ("e", damaged),
            ("f", other), ("g", (0..<500).map { _ in UInt8.random(in: 0...255) }),
        ]
        for (key, bytes) in strange {
            let name = keyspace.names(for: key.keyBytes).value
            try await redis.set(name, bytes, expiringIn: .seconds(60))
            #expect(try await level.get(key) == nil)
            #expect(try await redis.get(name) == bytes)
        }
        #expect(level.statistics.unusable == strange.count)
        try await level.clear()
    }

    @Test("another schema number is a miss and stays")
    func schema() async throws {
        let redis = try await TestServer.client()
        let old = RedisLevel<String, String>(redis, keyspace: keyspace, schema: 1)
        let new = RedisLevel<String, String>(redis, keyspace: keyspace, schema: 2)
        try await old.set("old", for: "k")
        #expect(try await new.get("k") == nil)
        #expect(try await old.get("k") == "old")
        try await old.clear()
    }

    @Test("a foreign type under a value key is an error of its own")
    func wrongType() async throws {
        let redis = try await TestServer.client()
        let level = RedisLevel<String, String>(redis, keyspace: keyspace)
        let name = keyspace.names(for: "k".keyBytes).value
        _ = try await redis.send([Array("RPUSH".utf8), name.bytes, [1]])
        let error = await #expect(throws: RedisError.self) { try await level.get("k") }
        #expect(error?.serverCode == "WRONGTYPE")
        try await redis.delete(name)
    }

    @Test("lifetimes are the server's: what is read has the remaining time, not a new full one")
    func remainingLifetime() async throws {
        let redis = try await TestServer.client()
        let policy = FreshnessPolicy(freshFor: .seconds(100), staleIfError: .seconds(50), jitter: 0)
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, freshness: policy)
        let before = MonotonicInstant.now
        try await level.set("v", for: "k")
        let after = MonotonicInstant.now
        let entry = try #require(try await level.entry(for: "k", ReadRequest()))
        // How well the server's clock is known on a busy machine.
        let slack = Duration.seconds(5)
        #expect(entry.freshUntil > before.advanced(by: .seconds(100) - slack))
        #expect(entry.freshUntil < after.advanced(by: .seconds(100) + slack))
        #expect(entry.freshUntil.duration(to: entry.staleUntil) == .seconds(50))
        guard case .remaining(let left) = try await redis.timeToLive(of: keyspace.names(for: "k".keyBytes).value) else {
            Issue.record("no lifetime at the server")
            return
        }
        #expect(left > .seconds(100) && left <= .seconds(150))
        try await level.clear()
    }

    @Test("the scripts' digests are those that the server computes")
    func digests() async throws {
        let redis = try await TestServer.client()
        let scripts = LeaseScripts.all + ChangeScripts.all + TagScripts.all + OutageScripts.all + FleetScripts.all
        for script in scripts {
            let reply = try await redis.send([Array("SCRIPT".utf8), Array("LOAD".utf8), Array(script.source.utf8)])
            #expect(reply.string == script.digest, "\(script.name)")
        }
    }

    @Test("a server that has lost its scripts gets them again")
    func scriptFlush() async throws {
        try await RedisServer.withServer { server in
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace)
            for round in 0..<5 {
                try await server.command("SCRIPT", "FLUSH")
                try await level.set("\(round)", for: "k")
                #expect(try await level.get("k") == "\(round)")
            }
        }
    }

    @Test("caches that are made, used and let go leave nothing behind", .timeLimit(.minutes(5)))
    func letGo() async throws {
        let redis = try await TestServer.client()
        for number in 0..<20 {
            weak var remembered: KeyspaceCoherence?
            do {
                let level = RedisLevel<String, String>(redis, keyspace: Keyspace(TestServer.uniqueName()), codec: .text)
                try await level.ready()
                let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(level.fetching { "source \($0)" })
                for key in ["a", "b"] { #expect(try await cache.get(key) == "source \(key)") }
                if number.isMultiple(of: 2) { try await cache.remove("a") }
                remembered = level.shared
            }
            // What is still under way ends by itself.
            while remembered != nil { try await nextTurn() }
        }
    }
}
