extension RedisError {
    /// Whether the server, or the way to it, is to blame: what breakers count.
    ///
    /// Not a reply that only this command gets (NOSCRIPT, WRONGTYPE, NOPERM, a mistake of the caller), and not what this
    /// process refuses by itself.
    var blamesServer: Bool {
        switch code {
        case .connectionFailed, .connectionLost, .timeout, .authentication, .protocolViolation: true
        case .server: serverMessage.map { Self.blamesServer($0) } ?? false
        default: false
        }
    }

    private static func blamesServer(_ text: String) -> Bool {
        if text.hasPrefix("ERR max number of clients") { return true }
        return stateReplies.contains(text.prefix { $0 != " " })
    }

    /// Replies that any command of a role would get just now.
    private static let stateReplies: Set<Substring> = [
        "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "OOM", "MISCONF", "NOREPLICAS",
        "NOAUTH",
        "WRONGPASS",
    ]
}
