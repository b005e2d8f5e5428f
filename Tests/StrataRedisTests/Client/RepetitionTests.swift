import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A call that is lost with its connection and sent again", .timeLimit(.minutes(5)))
struct RepetitionTests {
    /// A client of a server that resets the connection at the first call of a command, and answers the others.
    private func withClient(
        _ answers: [String: String],
        _ body: (RedisClient) async throws -> Void
    ) async throws {
        let seen = Locked<Set<String>>([])
        let server = try await ScriptedServer.start(answering: { command, _ in
            guard let answer = answers[command[0]] else { return [.send(text: "+PONG\r\n")] }
            let isFirst = seen.withLock { $0.insert(command[0]).inserted }
            return isFirst && command[0] != "EVAL" ? [.reset] : [.send(text: answer)]
        })
        let redis = try RedisClient(.patient(server.url))
        try await body(redis)
        await redis.shutDown()
        await server.stop()
    }

    @Test("the repetition is refused: the first may have been applied")
    func refused() async throws {
        try await withClient(["GET": "-LOADING wait\r\n"]) { redis in
            let error = await #expect(throws: RedisError.self) { _ = try await redis.get("k") }
            #expect(error?.serverCode == "LOADING")
            #expect(error?.effect == .ambiguous)
        }
    }

    @Test("the repetition of a script is not known, and its text is refused: the first may have been applied")
    func refusedText() async throws {
        let answers = ["EVALSHA": "-NOSCRIPT no\r\n", "EVAL": "-READONLY no\r\n"]
        try await withClient(answers) { redis in
            let error = await #expect(throws: RedisError.self) {
                _ = try await redis.run(LeaseScripts.renew, keys: ["k", "l"], arguments: [], repetition: .repeatable)
            }
            #expect(error?.serverCode == "READONLY")
            #expect(error?.effect == .ambiguous)
        }
    }
}
