import Dispatch
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

/// No attempt follows another by itself here: one that comes at all was asked for.
@Suite("Credentials that change while a connection is made", .timeLimit(.minutes(5)))
struct LoginUnderWayTests {
    private func configuration(_ url: String, _ vault: Vault) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: url)
        configuration.credentials = CredentialSource(every: .seconds(1_000)) { try await vault.ask() }
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.healthWindow = .seconds(60)
        configuration.reconnectDelay = .milliseconds(1) ... .seconds(1_000)
        return configuration
    }

    /// Has a handshake under way, after one that was refused, when the credentials change.
    ///
    /// - Parameters:
    ///   - outcome: What AUTH with the password before is answered with in the end.
    ///   - last: The new password; only "right" is.
    /// - Returns: The passwords in the order in which they came, with their connections, and the error of
    ///   `refreshCredentials()`.
    /// - Throws: What no test expects.
    private func passwords(
        _ outcome: String,
        _ last: String = "right"
    ) async throws -> (used: [(password: String, connection: Int)], error: RedisError?) {
        let held = DispatchSemaphore(value: 0)
        let used = Locked<[(password: String, connection: Int)]>([])
        let server = try await ScriptedServer.start(answering: { command, connection in
            guard command.first == "AUTH", let password = command.last else {
                return [.send(text: command.first == "PING" ? "+PONG\r\n" : "+OK\r\n")]
            }
            used.withLock { $0.append((password, connection)) }
            if password == "held" {
                // Once it is let go, it stays so: whoever looks after all connections may send the same AUTH again.
                held.wait()
                held.signal()
            }
            let answer = password == "held" ? outcome : password == "right" ? "+OK" : "-WRONGPASS no"
            return [.send(text: answer + "\r\n")]
        })
        let vault = Vault()
        vault.set("one", "wrong")
        let redis = try RedisClient(configuration(server.url, vault))
        await #expect(throws: RedisError.self) { try await redis.ping() }
        vault.set("one", "held")
        // Where an attempt is under way by then, it waits for its handshake.
        let first = Task { try? await redis.refreshCredentials() }
        while !used.withLock({ $0.contains { $0.password == "held" } }) { try await nextTurn() }

        vault.set("one", last)
        async let refreshed: Void = redis.refreshCredentials()
        let keeper = try #require(redis.configuration.credentials).keeper
        while keeper.current?.password != Secret(last) || redis.connections[0].inFlight == 0 { try await nextTurn() }
        held.signal()
        var error: RedisError?
        do { try await refreshed } catch let failure as RedisError { error = failure }
        _ = await first.value
        if last == "right" {
            while (try? await redis.ping()) == nil { try await nextTurn() }
        }
        await redis.shutDown()
        await server.stop()
        return (used.withLock { $0 }, error)
    }

    @Test(
        "a password that changes under way: a refused attempt is followed by another at once, an accepted one logs in anew",
        arguments: [("-WRONGPASS no", 2), ("+OK", 1)]
    )
    func underWay(outcome: String, connections: Int) async throws {
        let (used, error) = try await passwords(outcome)
        #expect(error == nil)
        // Whoever asks, and who looks after all connections, may each log in.
        let numbers = used.drop { $0.password != "held" }
        #expect(Set(numbers.drop { $0.password == "held" }.map(\.password)) == ["right"])
        #expect(Set(numbers.map(\.connection)).count == connections)
    }

    @Test("a new password that is refused is told, and leaves the connection logged in with the one before")
    func wrongAgain() async throws {
        let (used, error) = try await passwords("+OK", "wrong too")
        #expect(error?.code == .authentication)
        let numbers = used.drop { $0.password != "held" }
        #expect(Set(numbers.drop { $0.password == "held" }.map(\.password)) == ["wrong too"])
        #expect(Set(numbers.map(\.connection)).count == 1)
    }

    @Test("what an attempt to connect has found out is no news for connections that stand, until it is asked for")
    func news() async throws {
        let number = Locked(0)
        let keeper = CredentialKeeper {
            // As a token that is signed anew each time.
            RedisCredentials(
                password: Secret(
                    String(
                        number.withLock { number in
                            number += 1
                            return number
                        }
                    )
                )
            )
        }
        func attempt() async {
            await withCheckedContinuation { continuation in keeper.ask(isNews: false) { continuation.resume() } }
        }
        await attempt()
        #expect(keeper.generation == 1 && keeper.news == 1)
        for _ in 0..<3 { await attempt() }
        #expect(keeper.generation == 4 && keeper.news == 1)
        // The turn of the interval comes, and attempts have asked so lately that it begins no question: that is news
        // then.
        _ = keeper.ask(every: .seconds(1_000), at: .now) {}
        #expect(keeper.generation == 4 && keeper.news == 4)
        try await keeper.answer()
        #expect(keeper.generation == 5 && keeper.news == 5)
    }

    @Test("nor does the link wait, after a source that failed and after a wrong password", arguments: [true, false])
    func link(fails: Bool) async throws {
        try await RedisServer.withServer(.init(directives: ["user one on >1 ~* &* +@all"])) { server in
            let vault = Vault()
            if fails { vault.fail() } else { vault.set("one", "wrong") }
            let redis = try RedisClient(configuration(server.url, vault))
            let level = RedisLevel<String, String>(redis, keyspace: "products", codec: .text)
            await #expect(throws: RedisError.self) { try await redis.ping() }
            while redis.cache.link.withMachine(0, { $0.phase }) != .waiting { try await nextTurn() }
            vault.set("one", "1")
            try await redis.refreshCredentials()
            while (try? await redis.ping()) == nil { try await nextTurn() }
            try await level.listens()
            await redis.shutDown()
        }
    }
}
