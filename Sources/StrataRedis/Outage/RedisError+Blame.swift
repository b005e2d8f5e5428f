extension RedisError {
    /// Whether the server, or the way to it, is to blame: what breakers count.
    ///
    /// A cache sends the same few commands for every key. A server that refuses one of them is of no use for the role it is
    /// sent in, whatever the reason: its state (LOADING, READONLY, OOM), its place (MOVED), what the user may do (NOPERM), or
    /// that it does not know the command (ERR, or NOSCRIPT after the script's text was sent). Only what lies under one key
    /// (WRONGTYPE) says nothing of the others. Neither does what this process refuses by itself, or was too late for.
    var blamesServer: Bool {
        switch code {
        case .timeout: !isOwnDelay
        case .connectionFailed, .connectionLost, .authentication, .protocolViolation, .wrongServer, .noPrimary: true
        case .server: serverMessage.map { !Self.isOfOneKey($0) } ?? false
        default: false
        }
    }

    /// Servers before 7 put the reply of a command in a script behind words of their own.
    private static func isOfOneKey(_ text: String) -> Bool {
        text.hasPrefix("WRONGTYPE") || text.hasPrefix("ERR Error running script") && text.contains("WRONGTYPE")
    }

    /// Whether the server is a replica, and refuses to write for that.
    var isOfReplica: Bool {
        guard code == .server, let serverMessage else { return false }
        return serverMessage.hasPrefix("READONLY")
            || serverMessage.hasPrefix("ERR Error running script") && serverMessage.contains("-READONLY")
    }
}
