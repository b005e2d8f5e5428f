import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Scripts that are answered with something else", .timeLimit(.minutes(5)))
struct WrongAnswerTests {
    /// A server without values that answers scripts as it likes, by their digests.
    private func level(
        _ answer: @escaping @Sendable (_ digest: String) -> String
    ) async throws -> (RedisLevel<String, String>, ScriptedServer) {
        let server = try await ScriptedServer.start(answering: { command, _ in
            switch command.first {
            case "TIME": [.send(text: "*2\r\n$4\r\n1000\r\n$1\r\n0\r\n")]
            case "EVALSHA": [.send(text: answer(command[1]))]
            case "HMGET": [.send(text: "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$-1\r\n")]
            case "GET": [.send(text: "$-1\r\n")]
            default: [.send(text: "+PONG\r\n")]
            }
        })
        let keyspace = Keyspace(TestServer.uniqueName())
        let redis = try TestServer.client(of: server.url)
        return (RedisLevel(redis, keyspace: keyspace, codec: .text, coherence: .none), server)
    }

    private static let wrong = ["$-1\r\n", "$2\r\nOK\r\n", ":7\r\n", "*0\r\n"]

    @Test("a set may have been applied", arguments: wrong)
    func set(answer: String) async throws {
        let (level, server) = try await level { _ in answer }
        let error = await #expect(throws: RedisError.self) { try await level.set("value", for: "k") }
        #expect(error?.code == .unexpectedReply && error?.effect == .ambiguous)
        await server.stop()
    }

    @Test("whether a change was made is not known", arguments: wrong)
    func change(answer: String) async throws {
        let (level, server) = try await level { _ in answer }
        let error = await #expect(throws: CacheError.self) { try await level.setIfAbsent("value", for: "k") }
        #expect(error?.code == .outcomeUnknown)
        await server.stop()
    }

    @Test("a removal is not done, and is repeated until it is", arguments: wrong.filter { $0 != ":7\r\n" })
    func removal(answer: String) async throws {
        let repeated = Locked(0)
        let (level, server) = try await level { digest in
            guard digest == OutageScripts.removeOlder.digest else { return answer }
            return repeated.withLock { count in
                count += 1
                return count < 2 ? answer : ":1\r\n"
            }
        }
        await #expect(throws: RedisError.self) { try await level.remove("k") }
        while level.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
        #expect(repeated.withLock { $0 } == 2)
        await server.stop()
    }

    @Test(
        "a read does not wait for a lease that no instance holds",
        arguments: wrong + ["*4\r\n:3\r\n$-1\r\n:0\r\n$0\r\n\r\n"]
    )
    func lease(answer: String) async throws {
        let (level, server) = try await level { digest in
            digest == LeaseScripts.readOrLead.digest ? answer : ":1\r\n"
        }
        let cache = level.fetching { "source \($0)" }
        #expect(try await cache.get("k") == "source k")
        await server.stop()
    }
}
