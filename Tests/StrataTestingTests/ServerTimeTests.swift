import StrataTesting
import Testing

@Suite("Time that goes by at a server", .timeLimit(.minutes(5)))
struct ServerTimeTests {
    private let clock = ManualClock()

    /// What a key has to live, in ms; -1 for ever, -2 for none.
    private func left(_ key: String, _ server: RedisServer) async throws -> Int64? {
        try await server.command("PTTL", key).integer
    }

    @Test("Each key loses the time, whatever it holds, and goes when nothing is left; what has no end stays")
    func keys() async throws {
        try await RedisServer.withServer { server in
            try await server.command("SET", "long", "v", "PX", "1000000")
            try await server.command("SET", "short", "v", "PX", "300000")
            try await server.command("SET", "ever", "v")
            try await server.command("RPUSH", "list", "a")
            try await server.command("PEXPIRE", "list", "1000000")
            try await server.command("HSET", "hash", "f", "v")
            try await server.command("PEXPIRE", "hash", "300000")
            try await clock.advance(by: .seconds(400), with: server)
            for key in ["long", "list"] {
                let left = try #require(try await left(key, server))
                #expect(left > 0 && left <= 600_000)
            }
            for key in ["short", "hash"] { #expect(try await left(key, server) == -2) }
            #expect(try await left("ever", server) == -1)
            #expect(clock.now.offset == .seconds(400))
        }
    }

    @Test("An entry of a cache keeps its time to live until that is over: a new one would be told as a change")
    func entries() async throws {
        try await RedisServer.withServer { server in
            let entry: [UInt8] = [0xd7, 0x53, 0x54, 1, 0, 0]
            let words = ["SET", "entry"].map { Array($0.utf8) } + [entry] + ["PX", "1000000"].map { Array($0.utf8) }
            try await server.command(bytes: words)
            try await clock.advance(by: .seconds(600), with: server)
            #expect(try #require(try await left("entry", server)) > 600_000)
            try await clock.advance(by: .seconds(1_001), with: server)
            #expect(try await left("entry", server) == -2)
        }
    }

    @Test("Thousands of keys, in several databases")
    func many() async throws {
        try await RedisServer.withServer { server in
            for database in [0, 3, 7] {
                let script = """
                    redis.call('SELECT', ARGV[1])
                    for i = 1, 2500 do redis.call('SET', 'k' .. i, 'v', 'PX', 1000000) end
                    """
                try await server.command("EVAL", script, "0", "\(database)")
            }
            try await clock.advance(by: .seconds(500), with: server)
            #expect(try await server.command("INFO", "keyspace").text.lines(with: "keys=2500").count == 3)
            try await clock.advance(by: .seconds(500), with: server)
            #expect(try await server.command("DBSIZE").integer == 0)
            #expect(try await server.command("INFO", "keyspace").text.lines(with: "keys=").isEmpty)
        }
    }

    @Test("What cannot be moved leaves the server as it is, and a server that is gone leaves the clock as it is")
    func refused() async throws {
        try await RedisServer.withServer { server in
            try await server.command("SET", "k", "v", "PX", "100000")
            await expect(code: .invalidTime) { try await clock.advance(by: .seconds(-1), with: server) }
            #expect(try #require(try await left("k", server)) > 0)
            try await server.kill()
            await #expect(throws: HarnessError.self) { try await clock.advance(by: .seconds(1), with: server) }
            #expect(clock.now.offset == .zero)
        }
    }

    @Test("Replicas are left to their primary; both have lost the time once")
    func replicas() async throws {
        var configuration = RedisReplication.Configuration()
        configuration.downAfter = .seconds(20)
        let set = try await RedisReplication.start(configuration)
        try await set.primary.command("SET", "k", "v", "PX", "1000000")
        try await set.primary.command("WAIT", "1", "5000")
        try await clock.advance(by: .seconds(400), with: set.servers)
        for server in set.servers {
            // A replica is told in its time.
            while !(300_001...600_000).contains(try await left("k", server) ?? 0) { try await nextTurn() }
        }
        try await set.stop()
    }
}

extension String {
    /// The lines with a text.
    fileprivate func lines(with text: String) -> [Substring] {
        split(whereSeparator: \.isNewline).filter { $0.contains(text) }
    }
}
