internal import Strata

/// What a connection needs to know of the client's configuration, with durations in nanoseconds.
struct ConnectionSettings: Sendable {
    var endpoint: String
    var handshake: Handshake
    var connectTimeout: Int64
    var inFlightLimit: Int
    var queuedBytesLimit: Int
    var healthWindow: Int64
    var keepalive: Int64
    var reconnectDelay: ClosedRange<Int64>

    init(_ configuration: RedisConfiguration) {
        endpoint = configuration.endpoint.description
        handshake = Handshake(configuration)
        connectTimeout = configuration.connectTimeout.saturatedNanoseconds
        inFlightLimit = configuration.inFlightLimit
        queuedBytesLimit = configuration.queuedBytesLimit
        healthWindow = configuration.healthWindow.saturatedNanoseconds
        keepalive = configuration.keepalive.saturatedNanoseconds
        let delay = configuration.reconnectDelay
        reconnectDelay = delay.lowerBound.saturatedNanoseconds...delay.upperBound.saturatedNanoseconds
    }
}
