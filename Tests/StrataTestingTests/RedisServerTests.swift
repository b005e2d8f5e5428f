import StrataTesting
import Testing

@Suite("A private Redis server", .timeLimit(.minutes(5)))
struct RedisServerTests {
    @Test("It answers on its port and its socket, and leaves nothing behind after the stop")
    func startAndStop() async throws {
        let server = try await RedisServer.start()
        let pid = try #require(server.pid)
        let folder = try #require(server.folder)
        #expect(server.isRunning)
        #expect(!server.isExternal)
        let information = try await server.command("INFO", "server").text
        #expect(information.contains("process_id:\(pid)\r\n"))
        for endpoint in [server.endpoint, try #require(server.unixEndpoint)] {
            let client = try await ByteClient.connect(to: endpoint)
            try await client.send("PING\r\n")
            #expect(try await client.readText(7) == "+PONG\r\n")
        }
        #expect(server.url == "redis://127.0.0.1:\(try #require(server.port))")
        #expect(await server.logTail().contains { $0.contains("Ready to accept connections") })

        try await server.stop()
        #expect(!server.isRunning)
        #expect(server.pid == nil)
        #expect(try await !isAlive(pid))
        #expect(!exists(folder))
        try await server.stop()
        await expect(code: .notRunning) { try await server.kill() }
        await expect(code: .notRunning) { try await server.restart(keepingData: true) }
    }

    @Test("Without a port it has its socket alone")
    func unixOnly() async throws {
        var configuration = RedisServer.Configuration()
        configuration.listensOnTCP = false
        try await RedisServer.withServer(configuration) { server in
            #expect(server.port == nil)
            #expect(server.url.hasPrefix("unix:///tmp/"))
            let setting = try await server.command("CONFIG", "GET", "port").elements
            #expect(setting == [.bulk(Array("port".utf8)), .bulk([0x30])])
        }
    }

    @Test("Many start at once, each by itself")
    func several() async throws {
        let servers = try await withThrowingTaskGroup(of: RedisServer.self) { group in
            for _ in 0..<8 {
                group.addTask { try await RedisServer.start() }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(servers.map(\.endpoint)).count == 8)
        #expect(Set(servers.map(\.pid)).count == 8)
        for (number, server) in servers.enumerated() {
            try await server.command("SET", "number", String(number))
        }
        for (number, server) in servers.enumerated() {
            #expect(try await server.command("GET", "number").integer == Int64(number))
            try await server.stop()
        }
    }

    @Test("Directives reach the server, quoted where needed")
    func directives() async throws {
        let password = "two words \"quoted\" \\ é\u{1}"
        let configuration = RedisServer.Configuration(
            directives: [
                "maxmemory 1mb",
                .init("maxmemory-policy", "allkeys-lru"),
                .init("user", "reader", "on", ">secret", "~r:*", "+get"),
            ],
            credentials: .init(password: password)
        )
        try await RedisServer.withServer(configuration) { server in
            let limit = try await server.command("CONFIG", "GET", "maxmemory").fields
            #expect(limit["maxmemory"]?.integer == 1_048_576)
            #expect(try await server.command("ACL", "USERS").text == "default\nreader")
            #expect(!"\(server.credentials as Any)".contains("words"))
            let stranger = try await ByteClient.connect(to: server.endpoint)
            try await stranger.send("PING\r\n")
            #expect(try await stranger.readText(7) == "-NOAUTH")
        }
    }

    @Test("A named user drives a server whose default user is off")
    func namedUser() async throws {
        let configuration = RedisServer.Configuration(
            directives: ["user default off", "user kit on >secret ~* &* +@all"],
            credentials: .init(username: "kit", password: "secret")
        )
        try await RedisServer.withServer(configuration) { server in
            #expect(try await server.command("ACL", "WHOAMI").text == "kit")
            try await server.restart(keepingData: true)
            #expect(try await server.command("ACL", "WHOAMI").text == "kit")
        }
    }

    @Test("A server that cannot start says why")
    func badDirective() async throws {
        let error = await #expect(throws: HarnessError.self) {
            try await RedisServer.start(.init(directives: ["no-such-directive 1"]))
        }
        #expect(error?.code == .exitedEarly)
        #expect(error?.description.contains("no-such-directive") == true)
    }

    @Test("A missing program, a program that ends, and one that never answers are told apart")
    func badPrograms() async throws {
        var configuration = RedisServer.Configuration()
        configuration.executable = "/no/such/redis-server"
        await expect(code: .executableNotFound) { try await RedisServer.start(configuration) }
        configuration.executable = "no-such-redis-server"
        await expect(code: .executableNotFound) { try await RedisServer.start(configuration) }
        configuration.executable = "false"
        await expect(code: .exitedEarly) { try await RedisServer.start(configuration) }
        configuration.executable = try instancePath()
        configuration.startDeadline = .milliseconds(50)
        await expect(code: .deadlineExceeded) { try await RedisServer.start(configuration) }
    }

    @Test("A cancelled start ends with CancellationError")
    func cancelledStart() async throws {
        var configuration = RedisServer.Configuration()
        configuration.executable = try instancePath()
        let task = Task { [configuration] in
            _ = try await RedisServer.start(configuration)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("Two servers cannot have one port, and the error says so")
    func portClash() async throws {
        try await RedisServer.withServer { server in
            var configuration = RedisServer.Configuration()
            configuration.port = server.port
            let error = await #expect(throws: HarnessError.self) { try await RedisServer.start(configuration) }
            #expect(error?.code == .addressInUse)
        }
    }

    @Test("A paused server takes connections and answers nothing until it is resumed")
    func pause() async throws {
        try await RedisServer.withServer { server in
            try await server.pause()
            #expect(server.isRunning)
            let client = try await ByteClient.connect(to: server.endpoint)
            try await client.send("PING\r\n")
            await expect(code: .deadlineExceeded) { try await server.command("PING", within: .milliseconds(50)) }
            #expect(client.readArrived().isEmpty)
            try await server.resume()
            #expect(try await client.readText(7) == "+PONG\r\n")
        }
    }

    @Test("A paused server can be stopped and restarted")
    func stopPaused() async throws {
        let server = try await RedisServer.start()
        try await server.command("SET", "k", "v")
        try await server.pause()
        try await server.restart(keepingData: true)
        #expect(try await server.command("GET", "k").text == "v")
        try await server.pause()
        try await server.stop()
        #expect(!server.isRunning)
    }

    @Test("A killed server refuses clients and comes back at the same place")
    func killAndRestart() async throws {
        try await RedisServer.withServer { server in
            let (port, socket, pid) = (server.port, server.unixEndpoint, server.pid)
            try await server.command("SET", "k", "v")
            try await server.kill()
            #expect(!server.isRunning)
            await expect(code: .connectionFailed) { try await ByteClient.connect(to: server.endpoint) }
            await expect(code: .connectionFailed) { try await server.command("PING") }
            await expect(code: .notRunning) { try await server.pause() }

            try await server.restart(keepingData: false)
            #expect(server.port == port)
            #expect(server.unixEndpoint == socket)
            #expect(server.pid != pid)
            #expect(try await server.command("EXISTS", "k").integer == 0)
        }
    }

    @Test("A restart keeps the data or not, as asked")
    func restart() async throws {
        try await RedisServer.withServer { server in
            try await server.command("SET", "k", "v")
            try await server.restart(keepingData: true)
            #expect(try await server.command("GET", "k").text == "v")
            try await server.kill()
            try await server.restart(keepingData: true)
            #expect(try await server.command("GET", "k").text == "v")
            try await server.restart(keepingData: false)
            #expect(try await server.command("DBSIZE").integer == 0)
        }
    }

    @Test("A restart need not wait until the data is loaded")
    func loading() async throws {
        let slowLoad: [RedisServer.Directive] = ["key-load-delay 200", "loading-process-events-interval-bytes 1024"]
        try await RedisServer.withServer(.init(directives: slowLoad)) { server in
            let fill = "for i = 1, 50000 do redis.call('SET', 'key:' .. i, string.rep('x', 100)) end"
            try await server.command("EVAL", fill, "0")
            try await server.restart(keepingData: true, waitingForLoad: false)
            let error = await #expect(throws: HarnessError.self) { try await server.command("GET", "key:1") }
            #expect(error?.message.hasPrefix("LOADING") == true)
        }
    }

    @Test("The last reference to a server ends it")
    func lastReference() async throws {
        var server: RedisServer? = try await RedisServer.start()
        let pid = try #require(server?.pid)
        let folder = try #require(server?.folder)
        server = nil
        try await wait { try await !isAlive(pid) && !exists(folder) }
    }

    @Test("Commands give back every kind of reply and throw errors")
    func replies() async throws {
        try await RedisServer.withServer { server in
            #expect(try await server.command("SET", "k", "v") == .status("OK"))
            #expect(try await server.command(bytes: [Array("SET".utf8), [0, 13, 10], [255, 0]]) == .status("OK"))
            #expect(try await server.command(bytes: [Array("GET".utf8), [0, 13, 10]]) == .bulk([255, 0]))
            #expect(try await server.command("GET", "none") == .null)
            #expect(try await server.command("INCR", "n") == .integer(1))
            #expect(try await server.command("MGET", "k", "none") == .array([.bulk([0x76]), .null]))
            let big = String(repeating: "x", count: 3_000_000)
            try await server.command("SET", "big", big)
            #expect(try await server.command("GET", "big").text == big)
            let error = await #expect(throws: HarnessError.self) { try await server.command("NOSUCH") }
            #expect(error?.code == .errorReply)
            #expect(error?.message.hasPrefix("ERR unknown command") == true)
        }
    }
}
