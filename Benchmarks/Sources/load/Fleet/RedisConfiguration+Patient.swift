import StrataRedis

extension RedisConfiguration {
    /// That of one of many instances in this process: their threads share few processors, and nothing is to be taken
    /// for an outage.
    static func patient(_ url: String, name: String) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: url)
        configuration.instanceName = name
        configuration.connectTimeout = .seconds(60)
        configuration.commandTimeout = .seconds(60)
        configuration.redisBudget = .seconds(60)
        configuration.linkPingTimeout = .seconds(60)
        configuration.breaker.failureShare = 2
        configuration.breaker.slowShare = 2
        return configuration
    }
}
