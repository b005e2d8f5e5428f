#if Configuration
internal import StrataRedis

extension RedisConfiguration {
    /// What calls of caches may cost, which changes while a client is in use.
    static let terms: [Setting<RedisConfiguration>] =
        [.duration("redisBudget", \.redisBudget, .aboveZero).reloadable]
        + BreakerOptions.settings.map { $0.within("breaker", \.breaker).reloadable }

    /// Everything but the server, who logs in, and how connections are encrypted.
    static let settings: [Setting<RedisConfiguration>] =
        [
            .integer("database", \.database, 0...Int(Int32.max)),
            .text("clientName", orNone: \.clientName),
            .text("instanceName", \.instanceName),
            .integer("connections", \.connections, 1...64),
            .duration("connectTimeout", \.connectTimeout, .aboveZero),
            .duration("commandTimeout", \.commandTimeout, .aboveZero),
        ] + terms + [
            .integer("invalidationLimit", \.invalidationLimit, 1...Int.max),
            .integer("inFlightLimit", \.inFlightLimit, 1...Int.max),
            .size("queuedBytesLimit", \.queuedBytesLimit),
            .duration("healthWindow", \.healthWindow, .aboveZero),
            .duration("keepalive", \.keepalive, .aboveZero),
            .range("reconnectDelay", \.reconnectDelay),
            .duration("linkPingInterval", \.linkPingInterval, .aboveZero),
            .duration("linkPingTimeout", \.linkPingTimeout, .aboveZero),
            .choice("tracking", \.tracking),
            .duration("replicaLagLimit", orNone: \.replicaLagLimit, from: .milliseconds(100)),
        ] + ReplyLimits.settings.map { $0.within("replyLimits", \.replyLimits) }
}

extension BreakerOptions {
    static let settings: [Setting<BreakerOptions>] = [
        .duration("window", \.window, .aboveZero),
        .integer("minimumCalls", \.minimumCalls, 1...Int.max),
        .number("failureShare", \.failureShare, 0...1_000_000),
        .number("slowShare", \.slowShare, 0...1_000_000),
        .duration("slowAfter", \.slowAfter, .aboveZero),
        .range("pause", \.pause),
    ]
}

extension ReplyLimits {
    static let settings: [Setting<ReplyLimits>] = [
        .size("bulkLength", \.bulkLength),
        .size("length", \.length),
        .integer("elements", \.elements, 1...Int.max),
        .integer("depth", \.depth, 1...128),
        .size("lineLength", \.lineLength),
    ]
}
#endif
