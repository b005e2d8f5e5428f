extension FaultProxy {
    /// What a proxy has seen up to one moment.
    public struct Snapshot: Sendable, Hashable {
        /// Totals since the start, closed connections included.
        public let counts: Counts
        /// The open connections, the oldest first.
        public let connections: [Connection]
    }

    /// Totals since the start.
    public struct Counts: Sendable, Hashable {
        /// Clients that were accepted and sent on to the server.
        public internal(set) var accepted = 0
        /// Clients that were reset because of ``Admission/reset``.
        ///
        /// Refused and ignored clients are not seen.
        public internal(set) var refused = 0
        /// Clients that were reset because the server could not be reached.
        public internal(set) var unreachable = 0
        /// Accepted connections that have closed.
        public internal(set) var closed = 0
        /// What passed from clients to the server.
        public internal(set) var toServer = LinkCounts()
        /// What passed from the server to clients.
        public internal(set) var toClient = LinkCounts()
    }

    /// An open connection.
    public struct Connection: Sendable, Hashable {
        /// Its number.
        public let id: ConnectionID
        /// What passed from the client to the server.
        package let toServer: LinkCounts
        /// What passed from the server to the client.
        package let toClient: LinkCounts
        /// The directions that are frozen.
        package let stalled: Directions
    }
}
