extension RedisError {
    /// Whether the server, or the way to it, is to blame: what breakers count.
    ///
    /// A cache sends the same few commands for every key. A server that refuses one of them does not serve the role,
    /// whatever the reason: its state (LOADING, READONLY, OOM), its place (MOVED), the user's permissions (NOPERM), or
    /// an unknown command (ERR, or NOSCRIPT after the script's text was sent). Only the value of one key (WRONGTYPE),
    /// and a key or channel that the user may not access, say nothing about others. Neither does a call that this
    /// process refused itself, or for which it was too late.
    var blamesServer: Bool {
        switch code {
        case .timeout: !isOwnDelay
        // The last: no node serves its slot, as with MOVED.
        case .connectionFailed, .connectionLost, .authentication, .tls, .protocolViolation, .wrongServer, .noPrimary,
            .tooManyRedirects:
            true
        case .server: serverMessage != nil && !isOfOneKey
        default: false
        }
    }

    private var isOfOneKey: Bool { serverCode == "WRONGTYPE" || isOfForbiddenName }

    /// Whether the user may not access a key or a channel, of one keyspace perhaps; it may run the command.
    var isOfForbiddenName: Bool { serverCode == "NOPERM" && serverMessage?.contains(" access ") == true }

    /// Whether a node refuses one slot, and may serve others.
    var isOfOneSlot: Bool {
        guard let serverMessage, let serverCode else { return false }
        return ["MOVED", "ASK", "TRYAGAIN"].contains(serverCode)
            || serverMessage.hasPrefix("CLUSTERDOWN Hash slot not served")
    }

    /// Whether the server refuses to write because it is a replica.
    var isOfReplica: Bool { code == .server && serverCode == "READONLY" }
}
