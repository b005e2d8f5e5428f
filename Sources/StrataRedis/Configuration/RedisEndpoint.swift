/// Where a server listens.
public struct RedisEndpoint: Sendable, Hashable, CustomStringConvertible {
    enum Address: Sendable, Hashable {
        case tcp(host: String, port: UInt16)
        case unix(path: String)
    }

    let address: Address

    /// A host name or numeric address with a port.
    ///
    /// Names are resolved afresh at every connect.
    public static func tcp(host: String, port: UInt16 = 6379) -> RedisEndpoint {
        RedisEndpoint(address: .tcp(host: host, port: port))
    }

    /// A Unix socket.
    public static func unix(path: String) -> RedisEndpoint {
        RedisEndpoint(address: .unix(path: path))
    }

    /// `host:port`, or the path of the socket, safe to print.
    public var description: String {
        switch address {
        case .tcp(let host, let port):
            let printable = PrintableText.escape(Array(host.utf8))
            return host.utf8.contains(UInt8(ascii: ":")) ? "[\(printable)]:\(port)" : "\(printable):\(port)"
        case .unix(let path): return PrintableText.escape(Array(path.utf8))
        }
    }

    func validate() throws(RedisError) {
        func require(_ condition: Bool, _ message: String) throws(RedisError) {
            guard condition else { throw RedisError(code: .invalidConfiguration, message: message) }
        }
        switch address {
        case .unix(let path):
            try require(!path.isEmpty, "the path of the Unix socket is empty")
            try require(path.utf8.count < SocketAddress.longestPath, "the path of the Unix socket is too long")
            try require(!path.utf8.contains(0), "the path of the Unix socket holds a NUL")
        case .tcp(let host, let port):
            try require((1...255).contains(host.utf8.count), "the host is empty or too long")
            try require(!host.utf8.contains(0), "the host holds a NUL")
            try require(port > 0, "the port is zero")
        }
    }
}
