extension RedisError.Code {
    /// The keys of a command lie in different slots of the cluster; nothing was sent.
    ///
    /// Text between braces decides the slot: `{user:7}:cart` and `{user:7}:name` lie in the same.
    public static let crossSlot = RedisError.Code(description: "keys in different slots")
    /// The nodes of a cluster redirected a call from one to the next and did not serve it.
    public static let tooManyRedirects = RedisError.Code(description: "too many redirects")
    /// Not defined for a cluster as a whole.
    public static let unsupportedByCluster = RedisError.Code(description: "unsupported by a cluster")
}

extension RedisError {
    /// No node serves a slot: what a node would have answered.
    static func unserved(_ endpoint: String?) -> RedisError {
        .reply("CLUSTERDOWN Hash slot not served", endpoint: endpoint)
    }
}
