import Testing

@testable import StrataRedis

@Suite("Errors of Redis")
struct RedisErrorTests {
    @Test("the code of a command in a script, as servers before 7.0 wrap it and as later ones do")
    func inScripts() {
        let wrapped = "ERR Error running script (call to f_6b1bf486c81ceb7edf3c093f4c48582e38c0e791): "
        let texts: [(text: String, code: Substring, isOfOutage: Bool)] = [
            (wrapped + "@user_script:12: @user_script: 12: -MISCONF Redis is configured to save", "MISCONF", true),
            (wrapped + "@user_script:1: -OOM command not allowed when used memory", "OOM", true),
            (wrapped + "@user_script: 3: -READONLY You can't write against a read only replica.", "READONLY", true),
            (wrapped + "@user_script:1: WRONGTYPE Operation against a key: it is a list", "WRONGTYPE", false),
            (wrapped + "@user_script:1: user_script:1: attempt to index a nil value", "ERR", false),
            (wrapped + "@user_script:1: -12 OOM", "ERR", false),
            ("MISCONF Redis is configured to save script: f, on @user_script:1.", "MISCONF", true),
            ("ERR something: -OOM", "ERR", false),
        ]
        for (text, code, isOfOutage) in texts {
            let error = RedisError.reply(text, endpoint: nil)
            #expect(error.serverCode == code && error.isOfOutage == isOfOutage, "\(text)")
            #expect(error.message == "the server answered \(code)")
            #expect(error.isOfReplica == (code == "READONLY") && error.blamesServer == (code != "WRONGTYPE"))
            #expect(error.effect == (isOfOutage && code != "OOM" ? .notApplied : .ambiguous))
        }
    }

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
