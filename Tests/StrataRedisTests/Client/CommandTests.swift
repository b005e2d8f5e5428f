import StrataRedis
import StrataTesting
import Testing

@Suite("Commands at a real server")
struct CommandTests {
    private let name = TestServer.uniqueName("commands")

    private func key(_ suffix: String) -> RedisKey { RedisKey("\(name):\(suffix)") }

    @Test("a value comes back byte for byte", arguments: [0, 1, 100, 16 << 10, 1 << 20, 5 << 20])
    func roundTrip(size: Int) async throws {
        let redis = try await TestServer.client()
        let value = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try await redis.set(key("v\(size)"), value, expiringIn: .seconds(60))
        #expect(try await redis.get(key("v\(size)")) == value)
        #expect(try await redis.length(of: key("v\(size)")) == size)
        try await redis.delete(key("v\(size)"))
        #expect(try await redis.get(key("v\(size)")) == nil)
    }

    @Test("keys are bytes: line ends, NUL, 0xFF, empty, a megabyte")
    func hostileKeys() async throws {
        let redis = try await TestServer.client()
        let prefix = Array(name.utf8)
        let keys: [[UInt8]] = [
            prefix + Array("a\r\nSET x y\r\n".utf8), prefix + [0], prefix + [0xff, 0xfe], prefix + Array("🙂".utf8),
            prefix + Array("*?[{}%".utf8), prefix + [UInt8](repeating: 65, count: 1 << 20), prefix,
        ]
        for (index, bytes) in keys.enumerated() {
            try await redis.set(RedisKey(bytes), [UInt8(index)], expiringIn: .seconds(60))
        }
        let values = try await redis.get(keys.map { RedisKey($0) })
        #expect(values == keys.indices.map { [UInt8($0)] })
        #expect(try await redis.unlink(keys.map { RedisKey($0) }) == keys.count)
    }

    @Test("SET with conditions and a lifetime")
    func setOptions() async throws {
        let redis = try await TestServer.client()
        #expect(try await redis.set(key("c"), [1][...], if: .present) == false)
        #expect(try await redis.set(key("c"), [1], expiringIn: .seconds(100), if: .absent))
        #expect(try await redis.set(key("c"), [2], if: .absent) == false)
        guard case .remaining(let left) = try await redis.timeToLive(of: key("c")) else {
            Issue.record("the key has no lifetime")
            return
        }
        #expect(left > .seconds(50) && left <= .seconds(100))
        #expect(try await redis.set(key("c"), [3], if: .present))
        #expect(try await redis.timeToLive(of: key("c")) == .unlimited)
        #expect(try await redis.expire(key("c"), in: .milliseconds(60_000)))
        #expect(try await redis.expire(key("nobody"), in: .seconds(1)) == false)
        #expect(try await redis.timeToLive(of: key("nobody")) == .absent)
        await #expect(throws: RedisError.self) { try await redis.set(key("c"), [1], expiringIn: .zero) }
        try await redis.delete(key("c"))
    }

    @Test("GETRANGE, EXISTS, no keys at all")
    func others() async throws {
        let redis = try await TestServer.client()
        try await redis.set(key("r"), Array("abcdef".utf8), expiringIn: .seconds(60))
        #expect(try await redis.getRange(key("r"), from: 1, through: 3) == Array("bcd".utf8))
        #expect(try await redis.getRange(key("nobody"), from: 0, through: 3) == [])
        #expect(try await redis.exists(key("r"), key("r"), key("nobody")) == 2)
        #expect(try await redis.get([] as [RedisKey]) == [])
        #expect(try await redis.unlink([]) == 0)
        try await redis.delete(key("r"))
    }

    @Test("SCAN finds every key with a prefix, and its pattern takes no part of it for a glob")
    func scan() async throws {
        let redis = try await TestServer.client()
        let base = Array("\(name)*[x]?:".utf8)
        for index in 0..<500 {
            try await redis.set(RedisKey(base + Array("\(index)".utf8)), [1], expiringIn: .seconds(600))
        }
        try await redis.set(RedisKey("\(name)zzz[x]?:9"), [1], expiringIn: .seconds(600))
        var found: Set<RedisKey> = []
        for try await batch in redis.keys(beginningWith: base) { found.formUnion(batch) }
        #expect(found.count == 500)
    }

    @Test("TIME, PING, INFO, CLIENT, PUBLISH and any other command")
    func server() async throws {
        let redis = try await TestServer.client()
        try await redis.ping()
        #expect(try await redis.time() > .seconds(1_700_000_000))
        #expect(try await redis.info("server")["redis_version"] != nil)
        #expect(try await redis.client("GETNAME").string?.hasPrefix("strata@") == true)
        #expect(try await redis.publish([1], to: Array(name.utf8)) == 0)
        #expect(try await redis.send("ECHO", "hello").string == "hello")
        #expect(try await redis.send([Array("ECHO".utf8), [0, 1, 255]]).bytes == [0, 1, 255])
        let nested = try await redis.send("EVAL", "return {1, {2, {3}}, 'x', false}", "0")
        #expect(nested == .array([.integer(1), .array([.integer(2), .array([.integer(3)])]), .bytes([120]), .null]))
    }

    @Test("an error reply is thrown; its description tells the code and none of the arguments")
    func errors() async throws {
        let redis = try await TestServer.client()
        _ = try await redis.send("RPUSH", "\(name):list", "x")
        let error = await #expect(throws: RedisError.self) { try await redis.get(key("list")) }
        #expect(error?.code == .server)
        #expect(error?.serverCode == "WRONGTYPE")
        let unknown = await #expect(throws: RedisError.self) { try await redis.send("NOSUCH", "secret-argument") }
        #expect(unknown?.description.contains("secret-argument") == false)
        #expect(unknown?.serverMessage?.contains("secret-argument") == true)
        await #expect(throws: RedisError.self) { try await redis.send([]) }
        try await redis.delete(key("list"))
    }

    @Test("many tasks on one connection each get their own value")
    func concurrent() async throws {
        let redis = try await TestServer.client()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let key = RedisKey("\(name):\(number)")
                    for round in 0..<20 {
                        let value = Array("\(number)-\(round)".utf8)
                        try await redis.set(key, value, expiringIn: .seconds(60))
                        #expect(try await redis.get(key) == value)
                    }
                    try await redis.delete(key)
                }
            }
            try await group.waitForAll()
        }
    }
}
