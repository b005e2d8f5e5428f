internal import Strata

/// What a link needs to know of the client's configuration, with durations in nanoseconds.
struct LinkSettings: Sendable {
    var endpoint: String
    var handshake: Handshake
    var connectTimeout: Int64
    var pingInterval: Int64
    var pingTimeout: Int64
    var reconnectDelay: ClosedRange<Int64>
    var stableAfter: Int64
    var database: Int
    /// Whether the server tells only of what was read, at the beginning.
    var tracksReads: Bool

    init(_ configuration: RedisConfiguration) {
        let settings = ConnectionSettings(configuration)
        endpoint = settings.endpoint
        handshake = settings.handshake
        connectTimeout = settings.connectTimeout
        pingInterval = configuration.linkPingInterval.saturatedNanoseconds
        pingTimeout = configuration.linkPingTimeout.saturatedNanoseconds
        reconnectDelay = settings.reconnectDelay
        stableAfter = settings.stableAfter
        database = configuration.database
        tracksReads = configuration.tracking == .perKey
    }
}
