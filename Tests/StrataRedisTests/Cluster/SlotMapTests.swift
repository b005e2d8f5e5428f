import Testing

@testable import StrataRedis

@Suite("Maps of slots as servers tell them", .timeLimit(.minutes(5)))
struct SlotMapTests {
    private let source = RedisEndpoint.tcp(host: "10.0.0.9", port: 7000)

    private func node(_ fields: (String, RESPValue)...) -> RESPValue {
        .array(fields.flatMap { [text($0.0), $0.1] })
    }

    private func text(_ text: String) -> RESPValue { .bytes(Array(text.utf8)) }

    private func shard(_ slots: [Int64], _ nodes: RESPValue...) -> RESPValue {
        .array([text("slots"), .array(slots.map { .integer($0) }), text("nodes"), .array(nodes)])
    }

    private func primary(_ host: String, _ port: Int64, health: String = "online") -> RESPValue {
        node(
            ("id", text("x")),
            ("port", .integer(port)),
            ("ip", text(host)),
            ("endpoint", text(host)),
            ("role", text("master")),
            ("health", text(health))
        )
    }

    private func range(_ first: Int64, _ last: Int64, _ host: RESPValue, _ port: Int64) -> RESPValue {
        .array([.integer(first), .integer(last), .array([host, .integer(port), text("id"), .array([])])])
    }

    @Test("SHARDS: primaries and not replicas, all ranges, also a primary without slots")
    func shards() throws {
        let replica = node(("port", .integer(9)), ("endpoint", text("r")), ("role", text("replica")))
        let reply = RESPValue.array([
            shard([0, 100, 300, 300], replica, primary("a", 1)),
            shard([101, 299], primary("b", 2)),
            shard([], primary("c", 3)),
        ])
        let map = try SlotMap(shards: reply, from: source)
        #expect(map.nodes == [.tcp(host: "a", port: 1), .tcp(host: "b", port: 2), .tcp(host: "c", port: 3)])
        #expect(map.owner(of: 100) == .tcp(host: "a", port: 1))
        #expect(map.owner(of: 300) == .tcp(host: "a", port: 1))
        #expect(map.owner(of: 299) == .tcp(host: "b", port: 2))
        #expect(map.owner(of: 301) == nil)
        #expect(map.owners(of: 0..<301)?.count == 2)
        #expect(map.owners(of: 0..<302) == nil)
    }

    @Test("SHARDS: each client gets the port of its kind, or the only one that there is")
    func ports() throws {
        func shard(_ slots: [Int64], _ ports: [(String, RESPValue)]) -> RESPValue {
            let fields = ports + [("endpoint", text("a")), ("role", text("master"))]
            return self.shard(slots, .array(fields.flatMap { [text($0.0), $0.1] }))
        }
        let reply = RESPValue.array([
            shard([0, 0], [("port", .integer(1)), ("tls-port", .integer(2))]),
            shard([1, 1], [("port", .integer(3))]), shard([2, 2], [("tls-port", .integer(4))]),
        ])
        let plain = try SlotMap(shards: reply, from: source)
        #expect(plain.nodes == [.tcp(host: "a", port: 1), .tcp(host: "a", port: 3), .tcp(host: "a", port: 4)])
        let encrypted = try SlotMap(shards: reply, from: source, usesTLS: true)
        #expect(encrypted.nodes == [.tcp(host: "a", port: 2), .tcp(host: "a", port: 3), .tcp(host: "a", port: 4)])
    }

    @Test("the replicas of each primary: two at most, those that have not failed, none twice")
    func replicas() throws {
        func replica(_ host: String, health: String = "online") -> RESPValue {
            node(
                ("endpoint", text(host)),
                ("port", .integer(1)),
                ("role", text("replica")),
                ("health", text(health))
            )
        }
        let shards = RESPValue.array([
            shard([0, 1], primary("a", 1), replica("r"), replica("gone", health: "fail")),
            // The node that is asked has not heard of its offset yet; another one may have.
            shard([6, 7], primary("d", 1), replica("s", health: "loading")),
            shard([2, 3], primary("b", 1)),
            shard([4, 5], primary("c", 1), replica("x"), replica("y"), replica("z")), .integer(3),
        ])
        let map = ReplicaMap(shards: shards, from: source)
        #expect(map.replicas[.tcp(host: "a", port: 1)] == [.tcp(host: "r", port: 1)])
        #expect(map.replicas[.tcp(host: "b", port: 1)] == nil)
        #expect(map.replicas[.tcp(host: "c", port: 1)]?.count == ReplicaMap.mostReplicas)
        #expect(map.replicas[.tcp(host: "d", port: 1)] == [.tcp(host: "s", port: 1)])
        #expect(map.replicas.count == 3 && ReplicaMap(shards: shards, from: source) == map)
        func place(_ host: String) -> RESPValue { .array([text(host), .integer(1)]) }
        let slots = RESPValue.array([
            .array([.integer(0), .integer(1), place("a"), place("r")]),
            .array([.integer(5), .integer(6), place("a"), place("r"), place("a")]),
            .array([.integer(2), .integer(3), place("b")]), .null,
        ])
        let old = ReplicaMap(slots: slots, from: source)
        #expect(old.replicas == [.tcp(host: "a", port: 1): [.tcp(host: "r", port: 1)]])
        #expect(ReplicaMap(shards: .null, from: source).replicas.isEmpty)
        // A later answer lacks some of them.
        var later = ReplicaMap(slots: slots, from: source)
        let (a, c) = (RedisEndpoint.tcp(host: "a", port: 1), RedisEndpoint.tcp(host: "c", port: 1))
        later.keep(from: map) { _, primary in primary == c }
        #expect(later.replicas == [a: [.tcp(host: "r", port: 1)], c: try #require(map.replicas[c])])
    }

    @Test("SLOTS: the same, and a node that does not know its own name is the one that was asked")
    func slots() throws {
        let reply = RESPValue.array([
            range(0, 8_191, text("a"), 1), range(8_192, 16_382, .null, 2), range(16_383, 16_383, text(""), 3),
        ])
        let map = try SlotMap(slots: reply, from: source)
        #expect(map.owner(of: 8_191) == .tcp(host: "a", port: 1))
        #expect(map.owner(of: 8_192) == .tcp(host: "10.0.0.9", port: 2))
        #expect(map.owner(of: 16_383) == .tcp(host: "10.0.0.9", port: 3))
    }

    @Test("of two primaries of a shard the one that is online")
    func failing() throws {
        let reply = RESPValue.array([shard([0, 9], primary("old", 1, health: "fail"), primary("new", 2))])
        #expect(try SlotMap(shards: reply, from: source).owner(of: 0) == .tcp(host: "new", port: 2))
    }

    @Test("a primary that has died, and whose slots are another's, is left out")
    func dead() throws {
        let reply = RESPValue.array([
            shard([], primary("dead", 1, health: "fail")), shard([0, 16_383], primary("new", 2)),
        ])
        let map = try SlotMap(shards: reply, from: source)
        #expect(map.nodes == [.tcp(host: "new", port: 2)])
        #expect(map.isWhole)
    }

    @Test("slots given twice are the first node's; ranges and nodes that make no sense are left out")
    func senseless() throws {
        let reply = RESPValue.array([
            range(0, 9, text("a"), 1), range(5, 19, text("b"), 2), range(30, 20, text("c"), 3),
            range(-5, 40, text("c"), 3), range(40, 70_000, text("c"), 3), range(50, 51, text("c"), 0),
            range(52, 53, text("c"), 65_536), range(54, 55, text("a b"), 4), .integer(7), .array([]),
            .array([.integer(1), .integer(2), .null]),
        ])
        let map = try SlotMap(slots: reply, from: source)
        #expect(map.owner(of: 5) == .tcp(host: "a", port: 1))
        #expect(map.owner(of: 19) == .tcp(host: "b", port: 2))
        for slot in 20..<16_384 { #expect(map.owner(of: UInt16(slot)) == nil) }
    }

    @Test(
        "maps that no cluster sends are refused: no list, no slot, too many primaries, slots given out again and again"
    )
    func hostile() {
        let many = (0...SlotMap.mostNodes).map { range(Int64($0), Int64($0), text("h\($0)"), 1) }
        let often = Array(repeating: range(0, 16_383, text("a"), 1), count: 100_000)
        for reply in [.null, .integer(1), .array([]), .array(many), .array(often)] as [RESPValue] {
            #expect(throws: RedisError.self) { try SlotMap(slots: reply, from: source) }
            #expect(throws: RedisError.self) { try SlotMap(shards: reply, from: source) }
        }
    }

    @Test("redirections: with a host, without one, with an address of IPv6, and what only looks like one")
    func redirections() {
        func read(_ text: String) -> Redirection? { Redirection(text, from: source) }
        #expect(read("MOVED 3999 127.0.0.1:6381") == .moved(slot: 3999, to: .tcp(host: "127.0.0.1", port: 6381)))
        #expect(read("ASK 1 :6381") == .ask(slot: 1, to: .tcp(host: "10.0.0.9", port: 6381)))
        #expect(read("MOVED 1 ::1:6381") == .moved(slot: 1, to: .tcp(host: "::1", port: 6381)))
        #expect(read("MOVED 1 [::1]:6381") == .moved(slot: 1, to: .tcp(host: "::1", port: 6381)))
        #expect(read("MOVED 1 ?:6381") == .unnamed(slot: 1, port: 6381, asking: false))
        #expect(read("ASK 1 ?:6381") == .unnamed(slot: 1, port: 6381, asking: true))
        #expect(read("TRYAGAIN Multiple keys") == .tryAgain)
        #expect(read("CLUSTERDOWN The cluster is down") == .down)
        for text in [
            "MOVED", "MOVED 1", "MOVED x a:1", "MOVED 16384 a:1", "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:99999",
            "MOVED 1 []:1", "MOVED 1 ?:0", "MOVED 1 ?:x", "ERR MOVED 1 a:1",
            "MOVED 1 \(String(repeating: "a", count: 300)):1",
        ] {
            #expect(read(text) == nil, "\(text)")
        }
    }

    @Test("where the keys of commands stand")
    func commandKeys() throws {
        func slot(_ words: String) throws -> UInt16? {
            try CommandKeys.slot(of: words.split(separator: " ").map { Array($0.utf8) })
        }
        let a = HashSlot.of("a" as RedisKey)
        for words in [
            "get a", "SET a b", "EVAL text 1 a b", "EVALSHA x 2 a {a}b c", "MSET a 1 {a}x 2", "OBJECT ENCODING a",
            "BITOP AND a {a}x", "XREAD COUNT 2 STREAMS a {a}x 0 0",
            "XREADGROUP GROUP streams streams COUNT 1 STREAMS a >", "ZUNIONSTORE a 2 {a}b {a}c WEIGHTS 1 2",
            "ZUNION 1 a", "BLPOP a 0", "RENAME a {a}b", "DEL a {a}b", "UNHEARDOF a b",
        ] {
            #expect(try slot(words) == a, "\(words)")
        }
        for words in ["PING", "INFO server", "CONFIG GET a", "EVAL text 0 a", "DBSIZE", "SCAN 0"] {
            #expect(try slot(words) == nil, "\(words)")
        }
        for words in ["DEL a b", "MSET a 1 b 2", "EVAL text 2 a b", "RENAME a b"] {
            let error = #expect(throws: RedisError.self) { try slot(words) }
            #expect(error?.code == .crossSlot)
        }
    }
}
