import Strata
import Testing

@testable import StrataRedis

@Suite("The conversation with a Sentinel")
struct SentinelQuestionTests {
    /// A conversation, with what was said last.
    private struct Talk: ~Copyable {
        var question: SentinelQuestion
        var writer = CommandWriter()

        init(
            _ topology: RedisTopology = .sentinel,
            name: String = "m",
            _ adjust: (inout RedisConfiguration) -> Void = { _ in }
        ) {
            let endpoint = RedisEndpoint.tcp(host: "s", port: 26_379)
            var configuration = RedisConfiguration(sentinels: SentinelOptions(endpoints: [endpoint], primary: name))
            configuration.topology = topology
            adjust(&configuration)
            question = SentinelQuestion(configuration, configuration.sentinels!, endpoint: endpoint)
            question.begin(&writer)
        }

        mutating func said() throws -> [String] {
            defer { writer.removeAll() }
            return try ReplyReader().read(Array(writer.bytes))
                .map { ($0.array ?? []).compactMap(\.string).joined(separator: " ") }
        }

        mutating func hear(_ reply: RESPValue) -> SentinelAnswer? { question.received(reply, &writer) }
    }

    private static func list(_ words: String...) -> RESPValue { .array(words.map { .bytes(Array($0.utf8)) }) }
    private static let sentinel = list("server", "redis", "version", "7.0.15", "mode", "sentinel")
    private static let standalone = list("server", "redis", "version", "7.0.15", "mode", "standalone", "role", "master")
    private static let cluster = list("server", "redis", "version", "7.0.15", "mode", "cluster", "role", "master")

    @Test("who it is, then where the primary is and how new that is")
    func walk() throws {
        var talk = Talk { $0.sentinels?.password = Secret("pw") }
        #expect(try talk.said() == ["AUTH pw", "HELLO 2"])
        #expect(talk.hear(.status("OK")) == nil)
        #expect(talk.hear(Self.sentinel) == nil)
        #expect(try talk.said() == ["SENTINEL GET-MASTER-ADDR-BY-NAME m", "SENTINEL MASTER m"])
        #expect(talk.hear(Self.list("redis.example", "6380")) == nil)
        let found = RedisEndpoint.tcp(host: "redis.example", port: 6380)
        #expect(talk.hear(Self.list("name", "m", "config-epoch", "17")) == .primary(found, epoch: 17))
    }

    @Test("the servers' own password is not sent to Sentinels")
    func ownPassword() throws {
        var talk = Talk { ($0.username, $0.password) = ("u", Secret("pw")) }
        #expect(try talk.said() == ["HELLO 2"])
    }

    @Test("where the number may not be asked for, the answer counts as old")
    func noEpoch() throws {
        for reply in [.error("NOPERM no"), .null, Self.list("config-epoch", "x"), Self.list("config-epoch")]
            as [RESPValue]
        {
            var talk = Talk()
            _ = talk.hear(Self.sentinel)
            _ = talk.hear(Self.list("10.0.0.1", "1"))
            #expect(talk.hear(reply) == .primary(.tcp(host: "10.0.0.1", port: 1), epoch: 0))
        }
    }

    @Test("a name that it does not know")
    func unknown() {
        var talk = Talk()
        _ = talk.hear(Self.sentinel)
        #expect(talk.hear(.null) == .unknown)
    }

    @Test(
        "an address that is none",
        arguments: [
            list("", "1"), list("h\0", "1"), list("h", "0"), list("h", "65536"), list("h", "-1"), list("h", "x"),
            list("h"),
            list("h", "1", "2"), .array([]), .array([.bytes([0xff]), .bytes([0x31])]), .array([.null, .null]),
            list(String(repeating: "h", count: 256), "1"), .integer(1), .status("OK"), .error("ERR x"), .error(""),
        ] as [RESPValue]
    )
    func badAddress(reply: RESPValue) {
        var talk = Talk()
        _ = talk.hear(Self.sentinel)
        guard case .failed = talk.hear(reply) else { return #expect(Bool(false), "\(reply) passed") }
    }

    @Test("what is no Sentinel, and one that does not let us in")
    func others() throws {
        let wrong: [(RESPValue, RedisError.Code)] = [
            (Self.standalone, .wrongServer), (Self.cluster, .wrongServer), (.error("NOAUTH x"), .authentication),
            (.error("LOADING x"), .server),
        ]
        for (reply, code) in wrong {
            var talk = Talk()
            guard case .failed(let error) = talk.hear(reply) else { return #expect(Bool(false), "\(reply) passed") }
            #expect(error.code == code && error.endpoint == "s:26379")
        }
        var talk = Talk { $0.sentinels?.password = Secret("pw") }
        guard case .failed(let error) = talk.hear(.error("WRONGPASS pw")) else { return #expect(Bool(false)) }
        #expect(error.code == .authentication && !"\(error)".contains("pw"))
        // Older than HELLO: it is asked all the same.
        var old = Talk()
        _ = try old.said()
        #expect(old.hear(.error("ERR unknown command `HELLO`")) == nil)
        #expect(try old.said().count == 2)
    }

    @Test("auto: a single server is one, and a Sentinel that watches one primary needs no name")
    func auto() throws {
        var single = Talk(.auto, name: "") { ($0.username, $0.password) = ("u", Secret("pw")) }
        #expect(try single.said() == ["AUTH u pw", "HELLO 2"])
        #expect(single.hear(.error("ERR AUTH <password> called without any password configured")) == nil)
        #expect(single.hear(Self.standalone) == .single)
        var talk = Talk(.auto, name: "")
        _ = try talk.said()
        _ = talk.hear(Self.sentinel)
        #expect(try talk.said() == ["SENTINEL MASTERS"])
        #expect(talk.hear(.array([Self.list("name", "only", "ip", "10.0.0.1")])) == nil)
        #expect(try talk.said() == ["SENTINEL GET-MASTER-ADDR-BY-NAME only", "SENTINEL MASTER only"])
        for primaries in [[], [Self.list("name", "a"), Self.list("name", "b")], [Self.list("name", "")], [.null]] {
            var talk = Talk(.auto, name: "")
            _ = talk.hear(Self.sentinel)
            guard case .failed(let error) = talk.hear(.array(primaries)) else { return #expect(Bool(false)) }
            #expect(error.code == .wrongServer)
        }
        var node = Talk(.auto, name: "")
        #expect(node.hear(Self.cluster) == .cluster)
        var cluster = Talk()
        guard case .failed(let error) = cluster.hear(Self.cluster) else { return #expect(Bool(false)) }
        #expect(error.code == .wrongServer && error.message.contains("cluster"))
    }
}

@Suite("Listening to a Sentinel")
struct SentinelListeningTests {
    private static let start = MonotonicInstant(nanoseconds: 5_000_000_000_000)

    private static func list(_ words: String...) -> RESPValue { .array(words.map { .bytes(Array($0.utf8)) }) }

    private func listening(
        _ topology: RedisTopology = .sentinel,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) -> SentinelListening {
        var configuration = RedisConfiguration(
            sentinels: SentinelOptions(endpoints: [.tcp(host: "s")], primary: "m")
        )
        configuration.topology = topology
        adjust(&configuration)
        return SentinelListening(configuration, configuration.sentinels!, now: Self.start)
    }

    private func listening(password: String) -> SentinelListening {
        listening { $0.sentinels?.password = Secret(password) }
    }

    private func live() -> SentinelListening {
        var listening = listening()
        #expect(listening.received(Self.list("subscribe", "+switch-master", "1")) == .nothing)
        #expect(listening.received(Self.list("subscribe", "+promoted-slave", "2")) == .began)
        return listening
    }

    @Test("what concerns the primary is a failover, what concerns others is not")
    func messages() {
        var listening = live()
        let promoted = RedisEndpoint.tcp(host: "10.0.0.2", port: 2)
        let messages: [(String, SentinelListening.Heard)] = [
            ("m 10.0.0.1 1 10.0.0.2 2", .failover(to: promoted)), ("m 10.0.0.1 1 10.0.0.2 x", .failover(to: nil)),
            ("slave 10.0.0.2:2 10.0.0.2 2 @ m 10.0.0.1 1", .failover(to: promoted)), ("m ", .failover(to: nil)),
            ("mm 10.0.0.1 1 10.0.0.2 2", .nothing), ("slave a:1 a 1 @ mm 10.0.0.1 1", .nothing), ("", .nothing),
        ]
        for (text, heard) in messages {
            #expect(listening.received(Self.list("message", "c", text)) == heard, "\(text)")
        }
    }

    @Test("one of the two channels is enough; neither, or a refused password, is a failure")
    func refused() {
        var one = listening()
        #expect(one.received(Self.list("subscribe", "+switch-master", "1")) == .nothing)
        #expect(one.received(.error("NOPERM no")) == .began)
        var none = listening()
        #expect(none.received(.error("NOPERM no")) == .nothing)
        guard case .failed = none.received(.error("NOPERM no")) else { return #expect(Bool(false)) }
        var login = listening(password: "pw")
        guard case .failed(let reason) = login.received(.error("WRONGPASS pw")) else { return #expect(Bool(false)) }
        #expect(!reason.contains("pw"))
        var allowed = listening(password: "pw")
        #expect(allowed.received(.status("OK")) == .nothing)
    }

    @Test("it logs in as whoever asks does: under auto with what the servers are told, and a refusal is no failure")
    func login() throws {
        func said(_ listening: SentinelListening) throws -> [String] {
            var writer = CommandWriter()
            listening.begin(&writer)
            return try ReplyReader().read(Array(writer.bytes))
                .map { ($0.array ?? []).compactMap(\.string).joined(separator: " ") }
        }
        let channels = SentinelListening.channels.map { "SUBSCRIBE \($0)" }
        let adjust: (inout RedisConfiguration) -> Void = { ($0.username, $0.password) = ("u", Secret("pw")) }
        #expect(try said(listening(.sentinel, adjust)) == channels)
        var auto = listening(.auto, adjust)
        #expect(try said(auto) == ["AUTH u pw"] + channels)
        #expect(auto.received(.error("ERR AUTH called without any password configured")) == .nothing)
        #expect(auto.received(Self.list("subscribe", "+switch-master", "1")) == .nothing)
        #expect(auto.received(Self.list("subscribe", "+promoted-slave", "2")) == .began)
    }

    @Test("under auto what a source of credentials said last is tried, and nothing before it has said anything")
    func loginFromSource() async throws {
        var configuration = RedisConfiguration(sentinels: SentinelOptions(endpoints: [.tcp(host: "s")], primary: "m"))
        configuration.topology = .auto
        configuration.credentials = CredentialSource { RedisCredentials(username: "u", password: Secret("pw")) }
        let options = configuration.sentinels!
        #expect(SentinelLogin(configuration, options) == nil)
        try await configuration.credentials?.keeper.answer()
        let login = try #require(SentinelLogin(configuration, options))
        #expect(login.credentials == RedisCredentials(username: "u", password: Secret("pw")))
        #expect(!login.isRequired)
        configuration.topology = .sentinel
        #expect(SentinelLogin(configuration, options) == nil)
    }

    @Test("a Sentinel that falls silent is given up, at the beginning as well")
    func silence() {
        var writer = CommandWriter()
        var late = listening()
        guard case .failed = late.advance(now: Self.start.advanced(by: .seconds(1)), &writer) else {
            return #expect(Bool(false))
        }
        var listening = live()
        #expect(listening.advance(now: Self.start.advanced(by: .seconds(1)), &writer) == .nothing)
        #expect(writer.count == 0)
        #expect(listening.advance(now: Self.start.advanced(by: .seconds(2)), &writer) == .nothing)
        #expect(writer.count > 0)
        var answered = listening
        #expect(answered.received(Self.list("pong", "")) == .nothing)
        #expect(answered.advance(now: Self.start.advanced(by: .seconds(3)), &writer) == .nothing)
        guard case .failed = listening.advance(now: Self.start.advanced(by: .seconds(3)), &writer) else {
            return #expect(Bool(false))
        }
    }
}
