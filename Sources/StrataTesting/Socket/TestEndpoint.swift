/// Where a server of the test kit listens, or a client of it connects.
public enum TestEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// A TCP port of a host: `127.0.0.1`, another numeric address, or (only where names are resolved) a name.
    case tcp(host: String, port: UInt16)
    /// A Unix-domain socket. The path must fit `sockaddr_un`: 107 bytes on Linux, 103 on macOS.
    case unix(path: String)

    /// A kind of endpoint that the kit chooses by itself.
    public enum Kind: Sendable, Hashable {
        /// A free TCP port of the loopback interface.
        case loopback
        /// A Unix-domain socket in a fresh folder.
        case unixSocket
    }

    /// A port of this machine's loopback interface, `127.0.0.1`.
    ///
    /// - Parameter port: The port.
    /// - Returns: The endpoint.
    public static func loopback(port: UInt16) -> TestEndpoint {
        .tcp(host: "127.0.0.1", port: port)
    }

    /// The endpoint as a Redis URL without credentials: `redis://127.0.0.1:6379` or `unix:///tmp/redis.sock`.
    public var url: String {
        switch self {
        case .tcp(let host, let port): "redis://\(host.contains(":") ? "[\(host)]" : host):\(port)"
        case .unix(let path): "unix://\(path)"
        }
    }

    /// The URL of the endpoint.
    public var description: String { url }

    /// The port, or `nil` for a Unix-domain socket.
    public var port: UInt16? {
        switch self {
        case .tcp(_, let port): port
        case .unix: nil
        }
    }
}
