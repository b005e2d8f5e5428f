import StrataTesting
import Testing

@Suite("The server that all tests share", .timeLimit(.minutes(5)))
struct SharedServerTests {
    @Test("All callers get the same one")
    func same() async throws {
        let servers = try await withThrowingTaskGroup(of: RedisServer.self) { group in
            for _ in 0..<8 {
                group.addTask { try await RedisServer.shared() }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(servers.allSatisfy { $0 === servers[0] })
        #expect(try await servers[0].command("PING").text == "PONG")
    }

    @Test("Without a URL in the environment it is private and can be stopped")
    func privateServer() async throws {
        let lines = try await output(environment: ["STRATA_REDIS_URL": nil])
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("false redis://127.0.0.1:"))
        #expect(lines[1...] == ["PONG", "stopped"])
    }

    @Test("With a URL in the environment it is that one, and cannot be stopped")
    func external() async throws {
        let configuration = RedisServer.Configuration(credentials: .init(password: "a b"))
        try await RedisServer.withServer(configuration) { server in
            let port = try #require(server.port)
            let lines = try await output(environment: ["STRATA_REDIS_URL": "redis://:a%20b@localhost:\(port)/3"])
            #expect(lines == ["true redis://localhost:\(port)/3", "PONG", "externalServer"])
            #expect(server.isRunning)
        }
    }

    private func output(environment: [String: String?]) async throws -> [String] {
        let instance = try await InstanceProcess.start(
            try instancePath(),
            arguments: ["shared"],
            environment: environment
        )
        let lines = await instance.lines.reduce(into: []) { $0.append($1) }
        #expect(try await instance.waitForExit() == .exited(0))
        return lines
    }
}

@Suite("URLs of test servers")
struct RedisURLTests {
    @Test(
        "They are taken apart",
        arguments: [
            ("redis://localhost", TestEndpoint.tcp(host: "localhost", port: 6379), nil, nil, 0),
            ("redis://10.0.0.1:7000/", .tcp(host: "10.0.0.1", port: 7000), nil, nil, 0),
            ("redis://:p%40ss@h:1/2", .tcp(host: "h", port: 1), nil, "p@ss", 2),
            ("redis://user:p:w@h", .tcp(host: "h", port: 6379), "user", "p:w", 0),
            ("redis://[::1]:7000", .tcp(host: "::1", port: 7000), nil, nil, 0),
            ("redis://[::1]", .tcp(host: "::1", port: 6379), nil, nil, 0),
            ("unix:///tmp/a b.sock", .unix(path: "/tmp/a b.sock"), nil, nil, 0),
        ] as [(String, TestEndpoint, String?, String?, Int)]
    )
    func valid(text: String, endpoint: TestEndpoint, username: String?, password: String?, database: Int) throws {
        let url = try RedisURL(text)
        #expect(url.endpoint == endpoint)
        #expect(url.credentials?.username == username)
        #expect(url.credentials?.password == password)
        #expect(url.database == database)
    }

    @Test(
        "Anything else is an error",
        arguments: [
            "", "redis:/", "http://h", "redis://", "redis://:1", "redis://h:0", "redis://h:65536", "redis://h:x",
            "redis://h/x", "redis://h/-1", "redis://pw@h", "redis://:%4@h", "redis://:%+1@h", "redis://:%ff@h",
            "redis://[]",
        ]
    )
    func invalid(text: String) {
        let error = #expect(throws: HarnessError.self) { try RedisURL(text) }
        #expect(error?.code == .invalidAddress)
    }
}
