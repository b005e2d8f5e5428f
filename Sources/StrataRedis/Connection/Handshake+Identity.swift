/// What a connection learns of the server at its other end, and whether that is the one it is meant for.
extension Handshake {
    /// Why a server that has told what it is cannot be used; `nil` when it can.
    func misplacement(_ identity: ServerIdentity, endpoint: String, isNamed: Bool) -> RedisError? {
        func error(_ code: RedisError.Code, _ message: String) -> RedisError {
            RedisError(code: code, message: message, endpoint: endpoint)
        }
        switch identity.mode {
        case .sentinel:
            let hint = topology == .single ? "redis-sentinel://host:port/?master=NAME asks it for the primary" : ""
            return error(.wrongServer, "a Sentinel answers there, not a server that keeps data" + Self.clause(hint))
        case .cluster where topology != .cluster:
            return error(.wrongServer, "a node of a cluster answers there, which has only a part of the keys")
        case .standalone where topology == .cluster:
            return error(.wrongServer, "a single server answers there, not a node of a cluster")
        default: break
        }
        // Also where it was not said that Sentinels listen, and they do.
        guard topology == .sentinel || isNamed, identity.isReplica == true else { return nil }
        return error(.noPrimary, "the Sentinels name a server that calls itself a replica")
    }

    private static func clause(_ text: String) -> String { text.isEmpty ? "" : "; \(text)" }

    /// What is to be said of a server that can be used.
    func remark(on step: Step, _ reply: RESPValue) -> String? {
        guard step == .identify else { return nil }
        guard let identity = ServerIdentity(reply) else {
            guard case .error(let text) = reply, text.hasPrefix("ERR unknown command") else { return nil }
            return "the server does not know HELLO: older than Redis 6, or a proxy; Strata does without what it lacks"
        }
        if identity.isTooOld { return "the server is older than Redis 6.2, the oldest supported version" }
        guard identity.isReplica == true, topology != .cluster else { return nil }
        return "the server is a replica: it can be read, but nothing can be stored or removed there"
    }

    /// A server may refuse to say what it is, and is used all the same, unless it refuses everything.
    func refusesAll(_ text: String) -> Bool {
        ["NOAUTH", "WRONGPASS", "DENIED", "ERR max number of clients"].contains { text.hasPrefix($0) }
    }
}
