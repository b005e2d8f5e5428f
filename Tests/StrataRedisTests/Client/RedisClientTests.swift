import Logging
import StrataRedis
import StrataTesting
import Testing

@Suite("A client and the life of its connection")
struct RedisClientTests {
    @Test("it works as soon as it is made, over TCP and over a Unix socket")
    func lazy() async throws {
        try await RedisServer.withServer { server in
            try await TestServer.client(of: server).ping()
            let path = try #require(server.unixEndpoint?.url)
            try await TestServer.client(of: path).ping()
        }
    }

    @Test("a password, a user, a database and a name are set before the first call")
    func handshake() async throws {
        let configuration = RedisServer.Configuration(
            directives: ["user tester on >s3cret ~* &* +@all"],
            credentials: .init(password: "the-default")
        )
        try await RedisServer.withServer(configuration) { server in
            let port = try #require(server.port)
            let redis = try TestServer.client(of: "redis://tester:s3cret@127.0.0.1:\(port)/3")
            let line = try #require(try await redis.client("INFO").string)
            #expect(line.contains("user=tester"))
            #expect(line.contains("db=3"))
            #expect(line.contains("name=strata"))
        }
    }

    @Test("a wrong or missing password is one clear error that names the server and not the password")
    func wrongPassword() async throws {
        let configuration = RedisServer.Configuration(credentials: .init(password: "right"))
        try await RedisServer.withServer(configuration) { server in
            let port = try #require(server.port)
            for url in ["redis://:hunter2@127.0.0.1:\(port)", "redis://127.0.0.1:\(port)"] {
                let redis = try TestServer.client(of: url)
                let error = await #expect(throws: RedisError.self) { try await redis.ping() }
                #expect(error?.code == .authentication)
                #expect(error?.effect == .notApplied)
                #expect(error?.description.contains("127.0.0.1:\(port)") == true)
                #expect(error?.description.contains("hunter2") == false)
                // At once: wrong credentials do not mend by being tried again.
                await #expect(throws: RedisError.self) { try await redis.ping() }
            }
        }
    }

    @Test("a call is lost after it was sent, and cannot be sent again: the first may have been applied")
    func sentAndMadeAgainInVain() async throws {
        let arrived = AsyncGate()
        let server = try await ScriptedServer.start(answering: { command, _ in
            if command[0] == "GET" { arrived.open() }
            return command[0] == "GET" ? [] : [.send(text: "+PONG\r\n")]
        })
        let proxy = try await FaultProxy.start(to: server.endpoint)
        let redis = try RedisClient(.patient(proxy.url))
        let call = Task { try await redis.get("k") }
        try await arrived.pass()
        // In this order, or the next connection might still be accepted.
        try proxy.admit(.refuse)
        proxy.closeConnections()
        let error = await #expect(throws: RedisError.self) { _ = try await call.value }
        #expect(error?.code == .connectionFailed)
        #expect(error?.effect == .ambiguous)
        await redis.shutDown()
        await proxy.stop()
        await server.stop()
    }

    @Test("a refused connection, an unresolvable name and a path that is not there name what was tried")
    func cannotConnect() async throws {
        for (url, named) in [
            ("redis://127.0.0.1:1", "127.0.0.1:1"),
            ("redis://no-such-host.invalid:6379", "no-such-host.invalid:6379"),
            ("unix:///nowhere/redis.sock", "/nowhere/redis.sock"),
        ] {
            var configuration = try RedisConfiguration(url: url)
            configuration.connectTimeout = .seconds(10)
            // Longer: a look-up that hangs ends the attempt, and not the call.
            configuration.commandTimeout = .seconds(60)
            let redis = try RedisClient(configuration)
            let error = await #expect(throws: RedisError.self) { try await redis.ping() }
            #expect(error?.code == .connectionFailed)
            #expect(error?.description.contains(named) == true)
        }
    }

    @Test("all addresses of a name are tried: localhost is two, the server listens on one")
    func allAddresses() async throws {
        try await RedisServer.withServer { server in
            let port = try #require(server.port)
            try await TestServer.client(of: "redis://localhost:\(port)").ping()
        }
    }

    @Test("a server that answers what no Redis answers is a typed error, and the next call has a fresh connection")
    func noRedis() async throws {
        let answers: [[UInt8]] = [
            Array("Welcome to the mail server\r\n".utf8), Array("*2147483648\r\n".utf8),
            Array("$9223372036854775807\r\n".utf8), Array("*abc\r\n".utf8),
            Array(String(repeating: "*1\r\n", count: 1_000_000).utf8),
            Array(repeating: UInt8(ascii: "+"), count: 200_000),
            [0, 1, 2, 3, 4, 5],
        ]
        for answer in answers {
            let server = try await ScriptedServer.start(script: [.receive(1), .send(answer), .hang])
            var configuration = try RedisConfiguration(url: server.url)
            configuration.commandTimeout = .seconds(20)
            configuration.connectTimeout = .seconds(20)
            configuration.reconnectDelay = .nanoseconds(1) ... .nanoseconds(2)
            let redis = try RedisClient(configuration)
            let error = await #expect(throws: RedisError.self) { try await redis.ping() }
            #expect(error?.code == .protocolViolation)
            await #expect(throws: RedisError.self) { try await redis.ping() }
            try await server.wait { $0.accepted >= 2 }
            await redis.shutDown()
            await server.stop()
        }
    }

    @Test("a call that times out leaves the connection, and no other call gets its late reply")
    func timeout() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            try await redis.set("a", [1])
            let connection = try await redis.client("ID").integer
            try await server.pause()
            let error = await #expect(throws: RedisError.self) {
                try await redis.get("a", timeout: .milliseconds(50))
            }
            #expect(error?.code == .timeout)
            #expect(error?.effect == .ambiguous)
            try await server.resume()
            for number in 0..<50 {
                #expect(try await redis.send("ECHO", "\(number)").string == "\(number)")
            }
            #expect(try await redis.client("ID").integer == connection)
        }
    }

    @Test("a cancelled call returns at once and leaves the connection")
    func cancellation() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            try await redis.set("a", [1])
            let connection = try await redis.client("ID").integer
            try await server.pause()
            let calls = (0..<20).map { _ in Task { try await redis.get("a") } }
            for call in calls { call.cancel() }
            for call in calls { await #expect(throws: CancellationError.self) { try await call.value } }
            try await server.resume()
            #expect(try await redis.send("ECHO", "after").string == "after")
            #expect(try await redis.client("ID").integer == connection)
        }
    }

    @Test("half of the calls cancelled at random points: no reply reaches another call")
    func randomCancellation() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        let redis = try await TestServer.client()
        var generator = SeededGenerator(seed: seed)
        let yields = (0..<400).map { _ in Int.random(in: 0..<60, using: &generator) }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                let victim = number % 2 == 0
                group.addTask {
                    let call = Task { try await redis.send("ECHO", "\(number)").string }
                    for _ in 0..<yields[number] { await Task.yield() }
                    if victim { call.cancel() }
                    switch await call.result {
                    case .success(let text): #expect(text == "\(number)")
                    case .failure(let error): #expect(victim && error is CancellationError)
                    }
                }
            }
        }
        #expect(try await redis.send("ECHO", "last").string == "last")
    }

    @Test("while the server is away calls fail at once, and when it is back they work again without being told")
    func restart() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            try await redis.set("a", [1])
            try await server.kill()
            var refusal: RedisError?
            while refusal?.code != .connectionFailed {
                do { try await redis.ping() } catch let error as RedisError { refusal = error }
            }
            try await server.restart(keepingData: false)
            while true {
                do {
                    #expect(try await redis.get("a") == nil)
                    break
                } catch let error as RedisError {
                    #expect(error.code == .connectionFailed)
                }
            }
        }
    }

    @Test("a command that must not run twice is not repeated after a lost connection; a read is")
    func repetition() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            var configuration = try RedisConfiguration(url: proxy.url)
            configuration.commandTimeout = .seconds(20)
            configuration.connectTimeout = .seconds(10)
            configuration.healthWindow = .seconds(20)
            let redis = try RedisClient(configuration)
            try await redis.set("n", Array("0".utf8))

            // The command reaches the server, its reply does not reach us.
            proxy.stall(.toClient)
            let increment = Task { try await redis.send("INCR", "n") }
            while try await server.command("GET", "n").text != "1" { try await nextTurn() }
            proxy.closeConnections()
            proxy.resume(.toClient)
            let error = await #expect(throws: RedisError.self) { try await increment.value }
            #expect(error?.code == .connectionLost)
            #expect(error?.effect == .ambiguous)
            #expect(try await server.command("GET", "n").text == "1")

            _ = try await redis.get("n")
            proxy.stall(.toClient)
            let (before, gets) = (proxy.snapshot.counts.accepted, try await server.calls(of: "get"))
            let read = Task { try await redis.get("n") }
            while try await server.calls(of: "get") == gets { try await nextTurn() }
            proxy.closeConnections()
            proxy.resume(.toClient)
            #expect(try await read.value == Array("1".utf8))
            #expect(proxy.snapshot.counts.accepted > before)
            await redis.shutDown()
            await proxy.stop()
        }
    }

    enum Write: CaseIterable {
        case set
        case delete
        case unlink
        case expire
    }

    @Test("a write of which it is not known whether it was run is not sent again", arguments: Write.allCases)
    func ambiguousWrite(write: Write) async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            var configuration = try RedisConfiguration(url: proxy.url)
            configuration.commandTimeout = .seconds(20)
            configuration.connectTimeout = .seconds(10)
            configuration.healthWindow = .seconds(20)
            let redis = try RedisClient(configuration)
            try await redis.set("n", Array("old".utf8))

            proxy.stall(.toClient)
            let call = Task {
                switch write {
                case .set: _ = try await redis.set("n", Array("mine".utf8))
                case .delete: _ = try await redis.delete("n")
                case .unlink: _ = try await redis.unlink(["n"])
                case .expire: _ = try await redis.expire("n", in: .seconds(1_000))
                }
            }
            func isRun() async throws -> Bool {
                switch write {
                case .set: try await server.command("GET", "n").text == "mine"
                case .delete, .unlink: try await server.command("EXISTS", "n").integer == 0
                case .expire: try await server.command("TTL", "n").integer != -1
                }
            }
            while try await !isRun() { try await nextTurn() }
            // What others write now must stay.
            try await server.command("SET", "n", "newer")
            proxy.closeConnections()
            proxy.resume(.toClient)
            let error = await #expect(throws: RedisError.self) { try await call.value }
            #expect(error?.effect == .ambiguous)
            #expect(try await server.command("GET", "n").text == "newer")
            #expect(try await server.command("TTL", "n").integer == -1)
            await redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("too many calls at once are refused at once, and nothing else happens to them")
    func backPressure() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server) {
                $0.inFlightLimit = 10
                $0.queuedBytesLimit = 1 << 20
            }
            try await redis.ping()
            try await server.pause()
            let calls = (0..<10).map { _ in Task { try await redis.get("a") } }
            // All ten are in the queue when an eleventh is refused; before that it would just wait like them.
            var refusal: RedisError?
            while refusal == nil {
                do {
                    _ = try await redis.get("b", timeout: .milliseconds(1))
                } catch let error as RedisError where error.code == .overloaded {
                    refusal = error
                } catch is RedisError {}
            }
            #expect(refusal?.effect == .notApplied)
            try await server.resume()
            for call in calls { _ = await call.result }
            // Replies to calls that were given up may still be owed, and each takes the place of a call.
            while true {
                do {
                    try await redis.ping()
                    break
                } catch let error as RedisError where error.code == .overloaded {
                    try await nextTurn()
                }
            }
        }
    }

    @Test("after shut-down calls fail with a typed error; those under way end")
    func shutDown() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            try await redis.ping()
            try await server.pause()
            let call = Task { try await redis.get("a") }
            for _ in 0..<100 { await Task.yield() }
            await redis.shutDown()
            let error = await #expect(throws: RedisError.self) { try await call.value }
            #expect(error?.code == .shutDown)
            let later = await #expect(throws: RedisError.self) { try await redis.ping() }
            #expect(later?.code == .shutDown)
            try await server.resume()
        }
    }

    @Test("run() ends with its task and shuts the client down")
    func run() async throws {
        let redis = try await TestServer.client()
        let running = Task { try await redis.run() }
        try await redis.ping()
        running.cancel()
        try await running.value
        let error = await #expect(throws: RedisError.self) { try await redis.ping() }
        #expect(error?.code == .shutDown)
    }

    @Test("a client that is let go closes its connection")
    func letGo() async throws {
        try await RedisServer.withServer { server in
            var redis: RedisClient? = try TestServer.client(of: server)
            try await redis?.ping()
            #expect(try await server.command("CLIENT", "LIST").text.contains("name=strata"))
            redis = nil
            while try await server.command("CLIENT", "LIST").text.contains("name=strata") { try await nextTurn() }
        }
    }
}
