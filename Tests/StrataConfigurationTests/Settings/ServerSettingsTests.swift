#if Configuration
import Configuration
import StrataRedis
import Testing

@testable import StrataConfiguration

@Suite("The server of a configuration")
struct ServerSettingsTests {
    private func read(_ values: [String: ConfigContent]) throws -> RedisConfiguration {
        try RedisConfiguration(config: TestConfig.memory(values))
    }

    private func error(_ values: [String: ConfigContent]) -> ConfigurationError? {
        TestConfig.error { _ = try read(values) }
    }

    @Test("a URL says all that it can say, and other keys change the rest")
    func url() throws {
        let configuration = try read([
            "url": "rediss://ann:hunter2@cache.internal:7000/3?ca=/etc/ca.pem", "tls.serverName": "cache",
            "connections": 2,
            "clientName": "none",
        ])
        #expect(configuration.endpoint == .tcp(host: "cache.internal", port: 7000))
        #expect(configuration.username == "ann" && configuration.password == Secret("hunter2"))
        #expect(configuration.database == 3 && configuration.connections == 2 && configuration.clientName == nil)
        #expect(configuration.tls?.authorities == "/etc/ca.pem" && configuration.tls?.serverName == "cache")
        let user = try read(["url": "redis://localhost", "username": "ann", "password": "hunter2"])
        #expect(user.username == "ann" && user.password == Secret("hunter2"))
    }

    @Test("addresses with and without ports, brackets, and a Unix socket")
    func endpoints() throws {
        #expect(try read(["endpoints": "cache.internal"]).endpoint == .tcp(host: "cache.internal", port: 6379))
        #expect(try read(["endpoints": "[::1]:7000"]).endpoint == .tcp(host: "::1", port: 7000))
        #expect(try read(["endpoints": "/run/redis.sock"]).endpoint == .unix(path: "/run/redis.sock"))
        let cluster = try read(["endpoints": .stringArray(["a", "b:7001"]), "topology": "cluster"])
        #expect(cluster.topology == .cluster && cluster.furtherEndpoints == [.tcp(host: "b", port: 7001)])
        for address in ["", "a b", "a:port", "a:0", "a:70000", "user:secret@host", "a/b"] {
            let error = error(["endpoints": .stringArray([address])])
            #expect(error?.key == "endpoints" && error?.code == .wrongForm, "\(address)")
        }
    }

    @Test("Sentinels, their own user, and a primary")
    func sentinels() throws {
        let configuration = try read([
            "sentinels.endpoints": .stringArray(["s1", "s2:7000"]), "sentinels.primary": "mymaster",
            "sentinels.username": "watcher", "sentinels.password": "hunter3", "sentinels.timeout": "100ms",
            "password": "hunter2",
        ])
        let sentinels = try #require(configuration.sentinels)
        #expect(configuration.topology == .sentinel && configuration.password == Secret("hunter2"))
        #expect(sentinels.endpoints == [.tcp(host: "s1", port: 26_379), .tcp(host: "s2", port: 7000)])
        #expect(sentinels.primary == "mymaster" && sentinels.username == "watcher")
        #expect(sentinels.password == Secret("hunter3") && sentinels.timeout == .milliseconds(100))
        let url = try read(["url": "redis-sentinel://s1?master=one", "sentinels.timeout": "1s"])
        #expect(url.sentinels?.timeout == .seconds(1) && url.sentinels?.primary == "one")
    }

    @Test("credentials of a file or of the environment, in the place of a password")
    func credentials() throws {
        #expect(try read(["endpoints": "a", "credentials.file": "/run/secrets/redis"]).credentials != nil)
        let variables = try read([
            "endpoints": "a", "credentials.passwordVariable": "REDIS_PASSWORD",
            "credentials.usernameVariable": "REDIS_USER",
        ])
        #expect(variables.credentials != nil && variables.password == nil)
        #expect(try read(["endpoints": "a"]).credentials == nil)
    }

    @Test("TLS is on where a key of it is set, or enabled says so")
    func tls() throws {
        #expect(try read(["endpoints": "a"]).tls == nil)
        #expect(try read(["endpoints": "a", "tls.enabled": true]).tls == TLSOptions())
        #expect(try read(["endpoints": "a", "tls.enabled": false]).tls == nil)
        #expect(try read(["endpoints": "a", "tls.requiresTLS13": true]).tls?.requiresTLS13 == true)
    }

    /// Keys that contradict each other, and the one that the error names.
    static let conflicts: [([String: ConfigContent], String, ConfigurationError.Code)] = [
        ([:], "url", .missing),
        (["url": "redis://a", "endpoints": "b"], "endpoints", .conflict),
        (["url": "redis://a", "topology": "cluster"], "topology", .conflict),
        (["url": "redis://a", "sentinels.endpoints": "b"], "sentinels.endpoints", .conflict),
        (["url": "redis://a", "sentinels.primary": "b"], "sentinels.primary", .conflict),
        (["url": "http://a"], "url", .wrongForm),
        (["endpoints": "a", "sentinels.endpoints": "b", "sentinels.primary": "c"], "endpoints", .conflict),
        (["endpoints": .stringArray(["a", "b"])], "topology", .conflict),
        (["endpoints": .stringArray([])], "endpoints", .outOfRange),
        (["endpoints": "a", "topology": "sentinel"], "sentinels.endpoints", .missing),
        (["endpoints": "a", "topology": "ring"], "topology", .unknownValue),
        (["sentinels.endpoints": "a"], "sentinels.primary", .missing),
        (["sentinels.endpoints": "a", "sentinels.primary": "b", "topology": "cluster"], "topology", .conflict),
        (
            ["sentinels.endpoints": "a", "sentinels.primary": "b", "sentinels.username": "c"], "sentinels.password",
            .missing
        ),
        (["endpoints": "a", "username": "b"], "password", .missing),
        (["endpoints": "a", "password": "b", "credentials.file": "/c"], "password", .conflict),
        (["url": "redis://:b@a", "credentials.file": "/c"], "url", .conflict),
        (
            ["endpoints": "a", "credentials.file": "/c", "credentials.passwordVariable": "D"],
            "credentials.passwordVariable", .conflict
        ),
        (["endpoints": "a", "credentials.username": "b"], "credentials.passwordVariable", .missing),
        (
            ["endpoints": "a", "credentials.passwordVariable": "B", "credentials.username": "c"],
            "credentials.username", .conflict
        ),
        (["url": "rediss://a", "tls.enabled": false], "tls.enabled", .conflict),
        (["endpoints": "a", "tls.enabled": false, "tls.key": "/k"], "tls.enabled", .conflict),
        (["endpoints": "a", "replicaLagLimit": "1s"], "replicaLagLimit", .conflict),
        (["endpoints": "a", "topology": "cluster", "database": 1], "database", .conflict),
    ]

    @Test("keys that contradict each other are errors that name one", arguments: conflicts)
    func conflict(values: [String: ConfigContent], key: String, code: ConfigurationError.Code) {
        let error = error(values)
        #expect(error?.key == key && error?.code == code, "\(String(describing: error))")
    }
}
#endif
