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
    /// How long a connection has to stand before its loss is no reason to wait longer for the next one.
    var stableAfter: Int64 = 1_000_000_000
    /// From when on a reply counts as slow, of a call that may be made of two commands.
    var slowReply: Int64 { terms.value.slowAfter / 2 }
    private let terms: Adjustable<CallTerms>
    /// Whether the order of replies is checked; a server that is played by a test may not know how to answer.
    var checksOrder = true

    init(_ configuration: RedisConfiguration) {
        endpoint = configuration.place
        handshake = Handshake(configuration)
        connectTimeout = configuration.connectTimeout.saturatedNanoseconds
        inFlightLimit = configuration.inFlightLimit
        queuedBytesLimit = configuration.queuedBytesLimit
        healthWindow = configuration.healthWindow.saturatedNanoseconds
        keepalive = configuration.keepalive.saturatedNanoseconds
        terms = configuration.presentTerms
        let delay = configuration.reconnectDelay
        reconnectDelay = delay.lowerBound.saturatedNanoseconds...delay.upperBound.saturatedNanoseconds
    }
}
