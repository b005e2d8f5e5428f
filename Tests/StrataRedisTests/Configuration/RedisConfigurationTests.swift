import Testing

@testable import StrataRedis

@Suite("Configurations")
struct RedisConfigurationTests {
    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var apply: @Sendable (inout RedisConfiguration) -> Void

        init(_ description: String, _ apply: @escaping @Sendable (inout RedisConfiguration) -> Void) {
            testDescription = description
            self.apply = apply
        }
    }

    private func plain() -> RedisConfiguration { RedisConfiguration(endpoint: .tcp(host: "h")) }

    @Test("the defaults are those of the documentation, and valid")
    func defaults() throws {
        let configuration = plain()
        try configuration.validate()
        #expect(configuration.endpoint == .tcp(host: "h", port: 6379))
        #expect(configuration.username == nil && configuration.password == nil && configuration.database == 0)
        #expect(configuration.clientName == "strata")
        #expect(configuration.connections == 1)
        #expect(configuration.connectTimeout == .milliseconds(500))
        #expect(configuration.commandTimeout == .seconds(1))
        #expect(configuration.inFlightLimit == 8192)
        #expect(configuration.queuedBytesLimit == 16 << 20)
        #expect(configuration.healthWindow == .seconds(2))
        #expect(configuration.keepalive == .seconds(15))
        #expect(configuration.reconnectDelay == .milliseconds(50) ... .seconds(5))
        let limits = ReplyLimits()
        #expect(configuration.replyLimits == limits)
        #expect(limits.bulkLength == 16 << 20 && limits.length == 512 << 20 && limits.elements == 1 << 20)
        #expect(limits.depth == 7 && limits.lineLength == 64 << 10)
    }

    static let good = [
        Change("one connection") { $0.connections = 1 },
        Change("64 connections") { $0.connections = 64 },
        Change("no name") { $0.clientName = nil },
        Change("a name") { $0.clientName = "!~az09" },
        Change("a password") { $0.password = Secret("x") },
        Change("an empty password") { $0.password = Secret("") },
        Change("user and password") { ($0.username, $0.password) = ("u", Secret("")) },
        Change("timeouts of a nanosecond") { $0.connectTimeout = .nanoseconds(1) },
        Change("timeouts for ever") { $0.commandTimeout = .seconds(1e19) },
        Change("one delay") { $0.reconnectDelay = .seconds(1) ... .seconds(1) },
        Change("delays for ever") { $0.reconnectDelay = .nanoseconds(1) ... .seconds(1e19) },
        Change("limits of one") { ($0.inFlightLimit, $0.queuedBytesLimit) = (1, 1) },
        Change("a deep reply") { $0.replyLimits.depth = 128 },
        Change("boundless replies") { $0.replyLimits = ReplyLimits(bulkLength: .max, length: .max, elements: .max) },
        Change("a socket") { $0.endpoint = .unix(path: "/" + String(repeating: "x", count: 106)) },
        Change("a long host") { $0.endpoint = .tcp(host: String(repeating: "h", count: 255)) },
    ]

    @Test("what is valid", arguments: good)
    func valid(change: Change) throws {
        var configuration = plain()
        change.apply(&configuration)
        try configuration.validate()
        _ = ConnectionSettings(configuration)
        _ = try RedisClient(configuration)
    }

    static let bad = [
        Change("no connection") { $0.connections = 0 },
        Change("65 connections") { $0.connections = 65 },
        Change("a negative number of connections") { $0.connections = .min },
        Change("no time to connect") { $0.connectTimeout = .zero },
        Change("negative time to connect") { $0.connectTimeout = .seconds(-1) },
        Change("no time for a call") { $0.commandTimeout = .zero },
        Change("no health window") { $0.healthWindow = .zero },
        Change("no keepalive") { $0.keepalive = .zero },
        Change("no delay") { $0.reconnectDelay = .zero ... .seconds(1) },
        Change("negative delay") { $0.reconnectDelay = .seconds(-2) ... .seconds(-1) },
        Change("nothing in flight") { $0.inFlightLimit = 0 },
        Change("no bytes queued") { $0.queuedBytesLimit = -1 },
        Change("no bytes in a bulk string") { $0.replyLimits.bulkLength = 0 },
        Change("no bytes in a reply") { $0.replyLimits.length = 0 },
        Change("no elements") { $0.replyLimits.elements = 0 },
        Change("no line") { $0.replyLimits.lineLength = -5 },
        Change("no depth") { $0.replyLimits.depth = 0 },
        Change("replies of any depth") { $0.replyLimits.depth = 129 },
        Change("a negative database") { $0.database = -1 },
        Change("a user without a password") { $0.username = "u" },
        Change("an empty name") { $0.clientName = "" },
        Change("a name with a space") { $0.clientName = "a b" },
        Change("a name with a line end") { $0.clientName = "a\r\nFLUSHALL" },
        Change("a name that is not ASCII") { $0.clientName = "é" },
        Change("an empty host") { $0.endpoint = .tcp(host: "") },
        Change("a host of 256 bytes") { $0.endpoint = .tcp(host: String(repeating: "h", count: 256)) },
        Change("a host with a NUL") { $0.endpoint = .tcp(host: "good\0.evil") },
        Change("port 0") { $0.endpoint = .tcp(host: "h", port: 0) },
        Change("no path") { $0.endpoint = .unix(path: "") },
        Change("a path too long") { $0.endpoint = .unix(path: "/" + String(repeating: "x", count: 107)) },
        Change("a path with a NUL") { $0.endpoint = .unix(path: "/a\0b") },
    ]

    @Test("what is not valid is refused before anything is connected", arguments: bad)
    func invalid(change: Change) {
        var configuration = plain()
        change.apply(&configuration)
        let error = #expect(throws: RedisError.self) { try configuration.validate() }
        #expect(error?.code == .invalidConfiguration)
        #expect(throws: RedisError.self) { try RedisClient(configuration) }
    }

    @Test("a URL gives endpoint, user, password and database, everything else is at its default")
    func fromURL() throws {
        let configuration = try RedisConfiguration(url: "redis://u:p@h:1/2")
        #expect(configuration.endpoint == .tcp(host: "h", port: 1))
        #expect(configuration.username == "u")
        #expect(configuration.password == Secret("p"))
        #expect(configuration.database == 2)
        #expect(configuration.connections == 1)
        let error = #expect(throws: RedisError.self) { try RedisClient("redis://user@h") }
        #expect(error?.code == .invalidConfiguration)
    }
}
