extension HTTPFields {
    /// Fields that concern one connection (RFC 9110 §7.6.1), or a proxy's credentials (RFC 9111 §3.1).
    private static let ofConnection: Set = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]
    private static let ofProxy: Set = ["proxy-authenticate", "proxy-authentication-info", "proxy-authorization"]
    /// Fields that the client makes for each request.
    private static let made: Set = ["host", "content-length", "expect"]

    /// What a request sends on: without the fields that belong to the connection to the caller.
    var forwarded: HTTPFields { without(Self.ofConnection.union(Self.made).union(connectionOptions)) }

    /// What a response hands on: without the fields that belong to the connection to the server.
    var handedOn: HTTPFields { without(Self.ofConnection.union(connectionOptions)) }

    /// What of a response is stored (RFC 9111 §3.1).
    ///
    /// - Parameters:
    ///   - control: What the response says of caching: it may name fields that are not stored.
    ///   - isShared: Whether many users share the cache.
    /// - Returns: The other fields.
    func storable(_ control: CacheControl, isShared: Bool) -> HTTPFields {
        var left = Self.ofProxy.union(control.fieldNames("no-cache"))
        if isShared { left.formUnion(control.fieldNames("private")) }
        return handedOn.without(left)
    }

    private var connectionOptions: [String] {
        HTTPList.members(values(of: "connection")).map { $0.lowercased() }
    }
}
