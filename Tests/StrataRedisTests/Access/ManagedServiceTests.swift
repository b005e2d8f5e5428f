import Logging
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

/// What is left when a provider takes commands away, which each of them does.
@Suite("Managed services", .timeLimit(.minutes(5)))
struct ManagedServiceTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// Two instances of a user that may do everything but this.
    private func withUser(
        lacking rules: String,
        linkPingTimeout: Duration = .seconds(60),
        _ body: (RedisServer, Instance, Instance, LogRecorder) async throws -> Void
    ) async throws {
        let user = RedisServer.Directive(stringLiteral: "user app on >pw ~* &* +@all \(rules)")
        try await RedisServer.withServer(.init(directives: [user])) { server in
            let url = server.url.replacing("redis://", with: "redis://app:pw@")
            let log = LogRecorder()
            let one = try Instance(url, keyspace, logger: log.logger) { $0.linkPingTimeout = linkPingTimeout }
            let other = try Instance(url, keyspace) { $0.linkPingTimeout = linkPingTimeout }
            try await body(server, one, other, log)
            for instance in [one, other] { await instance.redis.shutDown() }
        }
    }

    @Test("without CONFIG, CLIENT LIST, INFO and everything else that administers, nothing is missing")
    func administration() async throws {
        let rules =
            "-@admin -@dangerous -config -client|list -client|kill -client|no-evict -info -role -monitor -debug -acl"
        try await withUser(lacking: rules) { server, one, other, log in
            for instance in [one, other] { try await instance.listen() }
            try await other.cache.set("1", for: "a", tags: ["red"])
            await one.hears("a")
            #expect(try await one.cache.get("a") == "1")
            try await other.cache.set("2", for: "a")
            while try await one.cache.get("a") != "2" { try await nextTurn() }
            #expect(try await one.level.fetching { "source \($0)" }.get("b") == "source b")
            try await one.cache.set("3", for: "c", tags: ["red"])
            try await other.cache.invalidate(tag: "red")
            while try await one.cache.get("c") != nil { try await nextTurn() }
            try await one.level.sweep()
            try await one.cache.clear()
            while try await other.cache.get("a") != nil { try await nextTurn() }
            let refusals = try await server.command("ACL", "LOG").text
            #expect(!refusals.contains("reason"), "\(refusals)")
            #expect(log.lines.allSatisfy { $0.level < .warning }, "\(log.lines)")
        }
    }

    @Test(
        "without CLIENT TRACKING values are shared as before; memory keeps them for a short time, and a warning says why"
    )
    func tracking() async throws {
        // This bounds how long memory keeps entries whose changes it is not told of.
        try await withUser(lacking: "-client|tracking", linkPingTimeout: .milliseconds(100)) { _, one, other, log in
            try await other.cache.set("1", for: "a")
            #expect(try await one.cache.get("a") == "1")
            await one.wait { $0.contains(.untrusted) }
            try await other.cache.set("2", for: "a")
            // Untold, memory asks again before long.
            while try await one.cache.get("a") != "2" { try await nextTurn() }
            #expect(try await one.level.fetching { "source \($0)" }.get("b") == "source b")
            #expect(one.level.untrustedReason?.contains("CLIENT TRACKING was refused: NOPERM") == true)
            #expect(log.lines.count { $0.level == .warning && $0.text.contains("CLIENT TRACKING") } == 1)
        }
    }

    @Test(
        "without scripts what lies there is read; nothing is stored, values come from the source, and a warning names the command"
    )
    func scripts() async throws {
        try await withUser(lacking: "-@scripting") { server, one, _, log in
            let writer = try Instance(server.url, keyspace)
            try await writer.level.set("there", for: "b")
            let error = await #expect(throws: RedisError.self) { try await one.level.set("v", for: "a") }
            #expect(error?.serverCode == "NOPERM")
            let found = try await one.level.get(["a", "b"])
            #expect(found == [nil, "there"])
            let cache = one.level.fetching { "source \($0)" }
            for key in ["a", "b", "c"] {
                let value = try await cache.get(key)
                #expect(value == (key == "b" ? "there" : "source \(key)"))
            }
            await writer.redis.shutDown()
            let lines = log.lines.filter { $0.text.hasPrefix("Redis refuses") }
            #expect(lines.contains { $0.level == .warning && $0.text.contains("command=eval") }, "\(log.lines)")
        }
    }

    @Test("without PUBLISH and SUBSCRIBE values are shared as before, and a warning names what is missing")
    func channels() async throws {
        try await withUser(lacking: "-subscribe") { _, one, other, log in
            try await other.cache.set("1", for: "a")
            #expect(try await one.cache.get("a") == "1")
            await one.wait { $0.contains(.untrusted) }
            #expect(one.level.untrustedReason?.contains("SUBSCRIBE was refused: NOPERM") == true)
            #expect(log.lines.count { $0.level == .warning && $0.text.contains("SUBSCRIBE") } == 1)
        }
    }
}
