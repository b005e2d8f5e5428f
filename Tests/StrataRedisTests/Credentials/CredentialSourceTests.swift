import Foundation
import Logging
import Strata
import StrataTestSupport
import StrataTesting
import Synchronization
import Testing

@testable import StrataRedis

@Suite("Credentials that change", .timeLimit(.minutes(5)))
struct CredentialSourceTests {
    private static let users: [RedisServer.Directive] = [
        "user one on >1 ~* &* +@all", "user two on >2 ~* &* +@all",
    ]

    private func configuration(_ server: RedisServer, _ source: CredentialSource) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: server.url)
        configuration.credentials = source
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        configuration.healthWindow = .seconds(20)
        configuration.linkPingTimeout = .seconds(60)
        configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(10)
        return configuration
    }

    /// The users of a server's connections, by what the connections are for.
    private func users(_ server: RedisServer) async throws -> (commands: [String], links: [String]) {
        var users: (commands: [String], links: [String]) = ([], [])
        for line in try await server.command("CLIENT", "LIST").text.split(whereSeparator: \.isNewline) {
            let fields = Dictionary(
                line.split(separator: " ")
                    .map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
                    .map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") },
                uniquingKeysWith: { first, _ in first }
            )
            guard fields["name"]?.hasPrefix("strata@") == true, let user = fields["user"] else { continue }
            if fields["sub"] == "0" { users.commands.append(user) } else { users.links.append(user) }
        }
        return users
    }

    @Test("who asks for new credentials is not content with an answer to an earlier question")
    func newer() async throws {
        let gate = AsyncGate()
        let asked = Locked(0)
        let keeper = CredentialKeeper {
            let number = asked.withLock { asked in
                asked += 1
                return asked
            }
            if number == 1 { try await gate.pass() }
            return RedisCredentials(username: "\(number)", password: Secret("pw"))
        }
        keeper.ask {}
        await gate.arrivals()
        let answer = Task { try await keeper.answer() }
        // It waits for the first question, too.
        while keeper.waiters < 2 { try await nextTurn() }
        gate.open()
        try await answer.value
        #expect(keeper.current?.username == "2" && asked.withLock { $0 } == 2)
    }

    @Test("nodes that share a source ask it once in its interval, and hear of the answer that is under way")
    func shared() async throws {
        let vault = Vault()
        let keeper = CredentialKeeper { try await vault.ask() }
        let start = MonotonicInstant.now
        let told = Locked(0)
        @Sendable func ask(after seconds: Int) -> MonotonicInstant {
            keeper.ask(every: .seconds(10), at: start.advanced(by: .seconds(seconds))) { told.withLock { $0 += 1 } }
        }
        for _ in 0..<5 { #expect(ask(after: 0) == start.advanced(by: .seconds(10))) }
        // Whoever waits is told after the question has ended.
        while keeper.isAsking || told.withLock({ $0 }) == 0 { try await nextTurn() }
        #expect(vault.asked.load(ordering: .relaxed) == 1)
        #expect((1...5).contains(told.withLock { $0 }))
        // Another node comes later, and goes by the others' time from then on.
        #expect(ask(after: 4) == start.advanced(by: .seconds(10)))
        #expect(vault.asked.load(ordering: .relaxed) == 1)
        for _ in 0..<5 { #expect(ask(after: 10) == start.advanced(by: .seconds(20))) }
        while keeper.isAsking { try await nextTurn() }
        #expect(vault.asked.load(ordering: .relaxed) == 2 && keeper.generation == 1)
    }

    @Test(
        "a closure's credentials are used, and every connection and the link follow when they change, without a failed call"
    )
    func rotation() async throws {
        try await RedisServer.withServer(.init(directives: Self.users)) { server in
            let vault = Vault()
            var configuration = try configuration(
                server,
                CredentialSource(every: .seconds(1_000)) { try await vault.ask() }
            )
            configuration.connections = 2
            configuration.linkPingInterval = .milliseconds(50)
            let redis = try RedisClient(configuration)
            let level = RedisLevel<String, String>(redis, keyspace: "products", codec: .text)
            try await level.set("v", for: "k")
            try await level.set("v", for: "k")
            try await level.listens()
            var seen = try await users(server)
            while seen.links.isEmpty || seen.commands.count > 2 { seen = try await users(server) }
            #expect(seen.commands == ["one", "one"] && seen.links == ["one"])

            // Calls of all kinds go on meanwhile.
            let stops = Locked(false)
            let trouble = Task {
                var failures = 0
                while !stops.withLock({ $0 }) {
                    do { _ = try await level.get("k") } catch { failures += 1 }
                    if level.untrustedReason != nil { failures += 1 }
                }
                return failures
            }
            for (user, password) in [("two", "2"), ("one", "1"), ("two", "2")] {
                vault.set(user, password)
                try await redis.refreshCredentials()
                seen = try await users(server)
                // A link that is being made looks like another connection for commands.
                #expect(seen.commands.count >= 2 && Set(seen.commands) == [user])
                while try await users(server).links != [user] { try await nextTurn() }
            }
            stops.withLock { $0 = true }
            #expect(await trouble.value == 0)
            #expect(level.statistics.failures == 0)
            await redis.shutDown()
        }
    }

    @Test("a node that stands still keeps no other from logging in, and the error names it alone")
    func frozenNode() async throws {
        try await TestCluster.with(nodeTimeout: .seconds(60), server: .init(directives: Self.users)) { cluster in
            let vault = Vault()
            let redis = try TestCluster.client(of: cluster) {
                $0.credentials = CredentialSource(every: .seconds(1_000)) { try await vault.ask() }
                // Long enough for the nodes that answer, on a machine that stands still for a moment.
                $0.commandTimeout = .seconds(8)
            }
            let nodes = try await redis.primaries()
            for node in nodes { try await node.ping() }
            // Not the first, for whoever tells only one node tells that one.
            let frozen = try #require(nodes.last)
            let server = try #require(
                cluster.primaries.first { TestCluster.endpoint(of: $0) == frozen.configuration.endpoint }
            )
            vault.set("two", "2")
            try await server.pause()
            let error = await #expect(throws: RedisError.self) { try await redis.refreshCredentials() }
            try await server.resume()
            #expect(error?.code == .timeout && error?.endpoint == frozen.configuration.place)
            #expect(error?.message.contains("so did") == false)
            for node in nodes.dropLast() { #expect(try await node.send("ACL", "WHOAMI").string == "two") }
            await redis.shutDown()
        }
    }

    @Test("the source is asked again after a while, and by each new connection")
    func asked() async throws {
        try await RedisServer.withServer(.init(directives: Self.users)) { server in
            let vault = Vault()
            let redis = try RedisClient(
                configuration(server, CredentialSource(every: .milliseconds(20)) { try await vault.ask() })
            )
            try await redis.ping()
            vault.set("two", "2")
            while try await users(server).commands != ["two"] { try await redis.ping() }
            await redis.shutDown()

            let rare = Vault()
            let patient = try RedisClient(
                configuration(server, CredentialSource(every: .seconds(1_000)) { try await rare.ask() })
            )
            try await patient.ping()
            rare.set("two", "2")
            // Its user goes, and its connection with it: the first attempt may still be the old one's.
            try await server.command("ACL", "DELUSER", "one")
            while (try? await patient.ping()) == nil { try await nextTurn() }
            #expect(try await patient.send("ACL", "WHOAMI").string == "two")
            await patient.shutDown()
        }
    }

    @Test("credentials that the server does not accept, and a source that fails, leave connections as they are")
    func refused() async throws {
        try await RedisServer.withServer(.init(directives: Self.users)) { server in
            let vault = Vault()
            let recorder = LogRecorder()
            let redis = try RedisClient(
                configuration(server, CredentialSource(every: .seconds(1_000)) { try await vault.ask() }),
                logger: recorder.logger
            )
            try await redis.ping()
            vault.set("two", "wrong-hunter2")
            let error = await #expect(throws: RedisError.self) { try await redis.refreshCredentials() }
            #expect(error?.code == .authentication)
            #expect(try await redis.send("ACL", "WHOAMI").string == "one")
            while !recorder.lines.contains(where: { $0.level == .warning && $0.text.contains("not accepted") }) {
                try await redis.ping()
            }
            #expect(recorder.lines.allSatisfy { !$0.text.contains("hunter2") })
            vault.fail()
            let shut = await #expect(throws: RedisError.self) { try await redis.refreshCredentials() }
            #expect(shut?.message == "the vault is shut")
            while !recorder.lines.contains(where: { $0.level == .warning && $0.text.contains("vault is shut") }) {
                try await redis.ping()
            }
            // Once for each kind of failure.
            _ = try? await redis.refreshCredentials()
            try await redis.ping()
            #expect(recorder.lines.count { $0.text.contains("vault is shut") } == 1)
            #expect(try await redis.send("ACL", "WHOAMI").string == "one")
            await redis.shutDown()
        }
    }

    @Test("what the server refuses again and again is told once, until the source says something else")
    func refusedAgain() async throws {
        try await RedisServer.withServer(.init(directives: Self.users)) { server in
            let vault = Vault()
            let recorder = LogRecorder()
            let source = CredentialSource(every: .milliseconds(20)) { try await vault.ask() }
            let redis = try RedisClient(configuration(server, source), logger: recorder.logger)
            try await redis.ping()
            for (number, password) in ["wrong", "wrong as well"].enumerated() {
                let before = try await server.calls(of: "auth", field: "failed_calls")
                vault.set("two", password)
                while try await server.calls(of: "auth", field: "failed_calls") < before + 10 { try await nextTurn() }
                while recorder.lines.count(where: { $0.text.contains("not accepted") }) <= number {
                    try await nextTurn()
                }
            }
            await redis.shutDown()
            #expect(recorder.lines.count { $0.text.contains("not accepted") } == 2)
        }
    }

    @Test("connections that wrong credentials keep from standing are made at once when there are others")
    func mended() async throws {
        try await RedisServer.withServer(.init(directives: Self.users)) { server in
            let vault = Vault()
            vault.set("one", "wrong")
            var configuration = try configuration(
                server,
                CredentialSource(every: .seconds(1_000)) { try await vault.ask() }
            )
            configuration.reconnectDelay = .milliseconds(1) ... .seconds(1_000)
            let redis = try RedisClient(configuration)
            let error = await #expect(throws: RedisError.self) { try await redis.ping() }
            #expect(error?.code == .authentication)
            vault.set("one", "1")
            try await redis.refreshCredentials()
            while (try? await redis.ping()) == nil { try await nextTurn() }
            await redis.shutDown()
        }
    }

    @Test("a source that has never answered fails calls with its error; one that hangs, with the connect timeout")
    func unanswered() async throws {
        try await RedisServer.withServer(.init(directives: Self.users)) { server in
            let vault = Vault()
            vault.fail()
            let redis = try RedisClient(configuration(server, CredentialSource { try await vault.ask() }))
            let error = await #expect(throws: RedisError.self) { try await redis.ping() }
            #expect(error?.code == .authentication && error?.message == "the vault is shut")
            await redis.shutDown()

            let gate = AsyncGate()
            var configuration = try configuration(
                server,
                CredentialSource {
                    try await gate.pass()
                    return try await vault.ask()
                }
            )
            configuration.connectTimeout = .milliseconds(100)
            let hanging = try RedisClient(configuration)
            let late = await #expect(throws: RedisError.self) { try await hanging.ping() }
            #expect(late?.code == .connectionFailed && late?.message.contains("connect timeout") == true)
            gate.open()
            await hanging.shutDown()
        }
    }

    @Test("who asks for new credentials waits for a source that hangs as long as it may, and not when cancelled")
    func hangs() async throws {
        let gate = AsyncGate()
        let hang: @Sendable () async throws -> RedisCredentials = {
            // It does not care about cancellation.
            _ = await Task { try? await gate.pass() }.value
            return RedisCredentials(username: "one", password: Secret("1"))
        }
        let keeper = CredentialKeeper(answerTimeout: .milliseconds(50), hang)
        let late = await #expect(throws: RedisError.self) { try await keeper.answer() }
        #expect(late?.code == .timeout && late?.message.contains("source of credentials") == true)
        let patient = CredentialKeeper(hang)
        let call = Task { try await patient.answer() }
        while !patient.isAsking { try await nextTurn() }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        gate.open()
        while keeper.current == nil { try? await keeper.answer() }
        #expect(keeper.current?.username == "one")
    }

    @Test("who waits for an answer that is given up is told, and not remembered")
    func givenUp() async throws {
        let gate = AsyncGate()
        let told = Locked(0)
        let keeper = CredentialKeeper(answerTimeout: .zero) {
            _ = await Task { try? await gate.pass() }.value
            return RedisCredentials(username: "one", password: Secret("1"))
        }
        for number in 0..<3 {
            keeper.ask { told.withLock { $0 += 1 } }
            #expect(told.withLock { $0 } == number)
        }
        #expect(keeper.failure?.code == .timeout)
        gate.open()
        while told.withLock({ $0 }) < 3 { try await nextTurn() }
        #expect(keeper.current?.username == "one" && keeper.failure == nil)
    }

    @Test("a file is read again when a connection is made; one that others may use is refused")
    func file() async throws {
        try await RedisServer.withServer(.init(directives: Self.users)) { server in
            let folder = try #require(server.folder)
            let file = "\(folder)/password"
            try Data("1\n".utf8).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            let redis = try RedisClient(configuration(server, .file(file, username: "one")))
            #expect(try await redis.send("ACL", "WHOAMI").string == "one")
            try Data("new\n".utf8).write(to: URL(fileURLWithPath: file))
            try await server.command("ACL", "SETUSER", "one", "resetpass", ">new")
            try await server.command("CLIENT", "KILL", "USER", "one")
            while (try? await redis.ping()) == nil { try await nextTurn() }
            await redis.shutDown()
            for mode in [0o640, 0o604, 0o660, 0o644] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
                let loose = try RedisClient(configuration(server, .file(file, username: "one")))
                let error = await #expect(throws: RedisError.self) { try await loose.ping() }
                #expect(error?.code == .invalidConfiguration)
                #expect(error?.message.contains("others may use it") == true)
                await loose.shutDown()
            }
        }
    }

    @Test("variables of the environment; one that is not set is named")
    func environment() async throws {
        try await RedisServer.withServer(.init(directives: Self.users)) { server in
            setenv("STRATA_TEST_PASSWORD", "2", 1)
            setenv("STRATA_TEST_USER", "two", 1)
            defer {
                unsetenv("STRATA_TEST_PASSWORD")
                unsetenv("STRATA_TEST_USER")
            }
            let redis = try RedisClient(
                configuration(server, .environment(password: "STRATA_TEST_PASSWORD", username: "STRATA_TEST_USER"))
            )
            #expect(try await redis.send("ACL", "WHOAMI").string == "two")
            await redis.shutDown()
            let unset = try RedisClient(configuration(server, .environment(password: "STRATA_TEST_NOWHERE")))
            let error = await #expect(throws: RedisError.self) { try await unset.ping() }
            #expect(error?.code == .authentication && error?.message.contains("STRATA_TEST_NOWHERE") == true)
            await unset.shutDown()
        }
    }

    @Test("nothing prints them, and a fixed password beside them is refused")
    func silent() throws {
        let credentials = RedisCredentials(username: "hunter2", password: Secret("hunter2"))
        let source = CredentialSource { credentials }
        var configuration = RedisConfiguration(endpoint: .tcp(host: "h"))
        configuration.credentials = source
        var text = "\(credentials) \(source) \(configuration) \(Handshake(configuration))"
        dump(credentials, to: &text)
        dump(source, to: &text)
        dump(configuration, to: &text)
        #expect(!text.contains("hunter2"))
        try configuration.validate()
        configuration.password = Secret("x")
        #expect(throws: RedisError.self) { try configuration.validate() }
    }
}
