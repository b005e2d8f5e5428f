import Testing

@testable import StrataRedis

@Suite("The handshake")
struct HandshakeTests {
    struct Example: Sendable, CustomTestStringConvertible {
        var username: String?
        var password: String?
        var database = 0
        var name: String?
        var commands: [String]

        var testDescription: String { commands.joined(separator: ", ") }

        var handshake: Handshake {
            var configuration = RedisConfiguration(endpoint: .tcp(host: "h"))
            configuration.username = username
            configuration.password = password.map { Secret($0) }
            configuration.database = database
            configuration.clientName = name
            configuration.instanceName = "web 1/2"
            return Handshake(configuration)
        }
    }

    static let examples = [
        Example(commands: ["HELLO 2", "PING"]),
        Example(name: "app", commands: ["HELLO 2", "CLIENT SETNAME app@web_1/2", "PING"]),
        Example(password: "pw", commands: ["AUTH pw", "HELLO 2"]),
        Example(password: "", commands: ["AUTH ", "HELLO 2"]),
        Example(username: "u", password: "pw", commands: ["AUTH u pw", "HELLO 2"]),
        Example(database: 5, commands: ["HELLO 2", "SELECT 5"]),
        Example(database: 5, name: "app", commands: ["HELLO 2", "SELECT 5", "CLIENT SETNAME app@web_1/2"]),
        Example(
            username: "u",
            password: "p\r\nw",
            database: 7,
            name: "app",
            commands: ["AUTH u p\r\nw", "HELLO 2", "SELECT 7", "CLIENT SETNAME app@web_1/2"]
        ),
    ]

    @Test(
        "what is configured is sent, in one write, and PING where nothing else would be answered",
        arguments: examples
    )
    func commands(example: Example) throws {
        let handshake = example.handshake
        var writer = CommandWriter()
        handshake.encode(handshake.steps, into: &writer)
        let commands = try ReplyReader().read(Array(writer.bytes))
        #expect(handshake.steps.count == example.commands.count)
        #expect(commands.map { ($0.array ?? []).compactMap(\.string).joined(separator: " ") } == example.commands)
    }

    @Test("a replica of a cluster is asked to serve reads, and has to agree")
    func replica() throws {
        let cluster = try RedisConfiguration(url: "redis-cluster://h")
        let endpoint = RedisEndpoint.tcp(host: "r")
        #expect(!Handshake(cluster.node(at: endpoint)).steps.contains(.readOnly))
        let handshake = Handshake(cluster.replica(at: endpoint))
        var writer = CommandWriter()
        handshake.encode(handshake.steps, into: &writer)
        #expect(String(decoding: writer.bytes, as: UTF8.self).contains("*1\r\n$8\r\nREADONLY\r\n"))
        let refusal = RESPValue.error("NOPERM this user has no permissions to run the 'readonly' command")
        #expect(handshake.failure(of: .readOnly, refusal, endpoint: "r") != nil)
        #expect(handshake.failure(of: .readOnly, .status("OK"), endpoint: "r") == nil)
    }

    @Test("a status lets every step pass; so does an ACL that forbids the name")
    func passes() {
        let handshake = Self.examples[7].handshake
        for step in handshake.steps {
            #expect(handshake.failure(of: step, .status("OK"), endpoint: "h") == nil)
        }
        let forbidden = RESPValue.error("NOPERM this user has no permissions to run the 'client|setname' command")
        #expect(handshake.failure(of: .name, forbidden, endpoint: "h") == nil)
        for step in [Handshake.Step.authenticate, .select, .ping] {
            #expect(handshake.failure(of: step, forbidden, endpoint: "h") != nil)
        }
        // A server or a proxy may not have the command.
        for text in ["ERR unknown command 'CLIENT', with args beginning with: 'SETNAME'", "ERR unsupported"] {
            #expect(handshake.failure(of: .name, .error(text), endpoint: "h") == nil)
        }
        #expect(handshake.failure(of: .name, .error("NOAUTH Authentication required."), endpoint: "h") != nil)
    }

    @Test(
        "what is no status is no Redis server's answer",
        arguments: [.null, .integer(1), .bytes(Array("OK".utf8)), .array([]), .array([.bytes(Array("PING".utf8))])]
            as [RESPValue]
    )
    func otherReplies(reply: RESPValue) {
        let handshake = Self.examples[7].handshake
        for step in [Handshake.Step.authenticate, .select, .name, .ping] {
            let error = handshake.failure(of: step, reply, endpoint: "h")
            #expect(error?.code == .protocolViolation)
            #expect(error?.effect == .notApplied)
            #expect(error?.endpoint == "h")
        }
    }

    @Test(
        "a refused AUTH is an authentication failure, unless the server speaks of its own state",
        arguments: [
            ("WRONGPASS invalid username-password pair or user is disabled.", .authentication),
            ("ERR invalid password", .authentication),
            ("ERR AUTH <password> called without any password configured for the default user.", .authentication),
            ("ERR wrong number of arguments for 'auth' command", .authentication),
            ("NOAUTH Authentication required.", .authentication), ("something else", .authentication),
            ("", .authentication),
            ("ERR max number of clients reached", .server),
            ("ERR max number of clients + cluster connections reached", .server),
            ("LOADING Redis is loading the dataset in memory", .server),
            ("BUSY Redis is busy running a script.", .server),
            ("MASTERDOWN Link with MASTER is down", .server), ("DENIED Redis is running in protected mode", .server),
        ] as [(String, RedisError.Code)]
    )
    func refusedAuthentication(text: String, code: RedisError.Code) {
        let error = Self.examples[4].handshake.failure(of: .authenticate, .error(text), endpoint: "h:6379")
        #expect(error?.code == code)
        #expect(error?.effect == .notApplied)
        #expect(error?.description.contains("h:6379") == true)
    }

    @Test(
        "without a password the server's words decide",
        arguments: [
            ("NOAUTH Authentication required.", .authentication), ("ERR max number of clients reached", .server),
            ("LOADING Redis is loading", .server), ("NOPERM no", .server),
            ("DENIED Redis is running in protected mode", .server),
        ] as [(String, RedisError.Code)]
    )
    func refusedPing(text: String, code: RedisError.Code) {
        let error = Self.examples[0].handshake.failure(of: .ping, .error(text), endpoint: "h")
        #expect(error?.code == code)
        #expect(error?.serverMessage == text)
    }

    @Test("a server that quotes what it was sent does not get the password into an error")
    func quotedPassword() {
        let handshake = Self.examples[4].handshake
        let quotes = [
            "ERR unknown command 'AUTH', with args beginning with: 'u' 'pw' ",
            "ERR unknown command `AUTH`, `u`, `pw`, ", "pw",
            "pw is wrong", "ERR\npw", "\u{1b}pw",
        ]
        for text in quotes {
            guard let error = handshake.failure(of: .authenticate, .error(text), endpoint: "h") else {
                Issue.record("\(text) passed")
                continue
            }
            let printed = "\(error) \(String(reflecting: error)) \(error.serverMessage ?? "") \(error.serverCode ?? "")"
            #expect(!printed.contains("pw"), "\(printed)")
        }
    }

    @Test("what a server says to the other steps is printed escaped and cut")
    func printable() {
        let text = "ERR \u{1b}[31m\r\n" + String(repeating: "x", count: 10_000)
        let error = Self.examples[5].handshake.failure(of: .select, .error(text), endpoint: "h")
        let description = error?.description ?? ""
        #expect(description.contains(#"ERR \x1b[31m"#))
        #expect(description.utf8.allSatisfy { $0 >= 0x20 } && description.utf8.count < 400)
    }
}

@Suite("What a server says it is")
struct ServerIdentityTests {
    private static func hello(_ words: [String]) -> RESPValue { .array(words.map { .bytes(Array($0.utf8)) }) }

    private static func handshake(_ topology: RedisTopology) -> Handshake {
        var configuration = RedisConfiguration(endpoint: .tcp(host: "h"))
        configuration.topology = topology
        return Handshake(configuration)
    }

    @Test(
        "which server may be used for which topology",
        arguments: [
            ("standalone", "master", [.single, .sentinel, .auto]), ("standalone", "replica", [.single, .auto]),
            ("sentinel", nil, []), ("cluster", "master", [.cluster]), ("cluster", "replica", [.cluster]),
            ("something else", "master", [.single, .sentinel, .auto, .cluster]),
            (nil, nil, [.single, .sentinel, .auto, .cluster]),
        ] as [(String?, String?, Set<RedisTopology>)]
    )
    func places(mode: String?, role: String?, usable: Set<RedisTopology>) {
        let words = ["server", "redis", "version", "7.0.15", "proto", "2"] + (mode.map { ["mode", $0] } ?? [])
        let reply = Self.hello(words + (role.map { ["role", $0] } ?? []))
        for topology in RedisTopology.allCases {
            let error = Self.handshake(topology).failure(of: .identify, reply, endpoint: "h:1")
            #expect((error == nil) == usable.contains(topology), "\(topology)")
            guard let error else { continue }
            #expect(error.code == (topology == .sentinel && mode == "standalone" ? .noPrimary : .wrongServer))
            #expect(error.effect == .notApplied && error.endpoint == "h:1")
        }
    }

    @Test("a replica that Sentinels have named as the primary is not used, whoever has found them")
    func named() {
        let replica = Self.hello(["server", "redis", "mode", "standalone", "role", "replica"])
        let handshake = Self.handshake(.auto)
        #expect(handshake.failure(of: .identify, replica, endpoint: "h:1", isNamed: true)?.code == .noPrimary)
        let primary = Self.hello(["server", "redis", "mode", "standalone", "role", "master"])
        #expect(handshake.failure(of: .identify, primary, endpoint: "h:1", isNamed: true) == nil)
    }

    @Test("an answer that is none, and a refusal to answer, let a server pass that answers the rest")
    func unknown() {
        let handshake = Self.handshake(.single)
        let replies: [RESPValue] = [
            .status("OK"), .array([]), .array([.integer(1)]), .array([.null, .null]), .error("ERR unknown command"),
            .error("NOPERM"), .error("LOADING"), .error(""),
        ]
        for reply in replies { #expect(handshake.failure(of: .identify, reply, endpoint: "h") == nil, "\(reply)") }
        for text in ["NOAUTH x", "DENIED x", "ERR max number of clients reached"] {
            #expect(handshake.failure(of: .identify, .error(text), endpoint: "h") != nil)
        }
        for reply in [.null, .integer(1), .bytes([])] as [RESPValue] {
            #expect(handshake.failure(of: .identify, reply, endpoint: "h")?.code == .protocolViolation)
        }
    }

    @Test(
        "only a Redis older than 6.2 is too old",
        arguments: [
            ("redis", "6.0.16", true), ("redis", "5.0.3", true), ("redis", "6.2.0", false), ("redis", "7.0.15", false),
            ("redis", "255.255.255", false), ("redis", "", false), ("redis", "x.y", false), ("redis", "6", false),
            ("dragonfly", "1.2", false), ("redis", "9223372036854775808.1", false),
        ]
    )
    func versions(server: String, version: String, isTooOld: Bool) throws {
        let identity = try #require(
            ServerIdentity(Self.hello(["server", server, "version", version, "role", "master"]))
        )
        #expect(identity.isTooOld == isTooOld)
    }
}
