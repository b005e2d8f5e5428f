import StrataRedis

extension RedisConfiguration {
    /// A configuration for a machine that is busy with other things: no limit ends a call within a test.
    static func patient(_ url: String) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: url)
        configuration.beIn(patience: .seconds(20))
        return configuration
    }

    /// Waits for a busy machine, and connects again at once.
    mutating func beIn(patience: Duration) {
        connectTimeout = patience
        commandTimeout = patience
        redisBudget = patience
        breaker.slowAfter = patience
        healthWindow = patience
        linkPingTimeout = patience
        reconnectDelay = .milliseconds(1) ... .milliseconds(10)
    }
}
