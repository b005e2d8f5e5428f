import Testing

@testable import StrataRedis

@Suite("Errors of Redis")
struct RedisErrorTests {
    @Test("the description is one line with code, message and endpoint")
    func description() {
        let error = RedisError(code: .timeout, message: "no reply", endpoint: "h:6379")
        #expect(error.description == "Redis: timed out: no reply (h:6379)")
        #expect(RedisError(code: .timeout, message: "no reply").description == "Redis: timed out: no reply")
    }

    @Test("an error reply is known by its code; its text is kept apart")
    func reply() {
        let error = RedisError.reply("WRONGTYPE Operation against key 'secret-key'", endpoint: "h:6379")
        #expect(error.code == .server)
        #expect(error.description == "Redis: error reply: the server answered WRONGTYPE (h:6379)")
        #expect(error.serverMessage == "WRONGTYPE Operation against key 'secret-key'")
        #expect(error.serverCode == "WRONGTYPE")
        #expect(RedisError.reply("NOAUTH Authentication required.", endpoint: nil).code == .authentication)
        #expect(RedisError.reply("WRONGPASS x", endpoint: nil).code == .authentication)
        #expect(RedisError.reply("NOPERM x", endpoint: nil).code == .server)
    }

    @Test(
        "a first word that is no code is not printed",
        arguments: [
            "", " ", "secret-key is missing", "secret", "\u{1b}[31mERR", "ERR\nsecret", "ERR\u{202e}", "éRR",
            String(repeating: "A", count: 33), String(repeating: "A", count: 60_000), "-ERR",
        ]
    )
    func noCode(text: String) {
        let error = RedisError.reply(text, endpoint: nil)
        #expect(error.description == "Redis: error reply: the server answered an error without a code")
        #expect(error.serverMessage == text)
    }

    @Test(
        "refused for the server's own state is not run; anything else may have been",
        arguments: [
            ("LOADING", true), ("BUSY", true), ("MASTERDOWN", true), ("CLUSTERDOWN", true), ("TRYAGAIN", true),
            ("MOVED", true),
            ("ASK", true), ("READONLY", true), ("NOAUTH", true), ("NOPERM", true), ("WRONGPASS", true),
            ("NOSCRIPT", true),
            ("MISCONF", true), ("NOREPLICAS", true), ("ERR", false), ("OOM", false), ("WRONGTYPE", false),
            ("EXECABORT", false),
            ("LOADINGX", false), ("", false),
        ]
    )
    func effect(code: String, notApplied: Bool) {
        #expect(RedisError.reply("\(code) some text", endpoint: nil).effect == (notApplied ? .notApplied : .ambiguous))
    }
}
