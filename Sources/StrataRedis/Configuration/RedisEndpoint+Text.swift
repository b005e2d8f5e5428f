internal import Strata

extension RedisEndpoint {
    /// The address of a text as ``description`` prints it: a host with or without a port, an address in brackets, or
    /// the absolute path of a Unix socket.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - port: The port where it has none.
    /// - Throws: ``RedisError/Code/invalidConfiguration``, without quoting the text.
    package init(text: String, port: UInt16) throws(RedisError) {
        let bytes = Array(text.utf8)[...]
        let endpoint: RedisEndpoint =
            bytes.first == UInt8(ascii: "/")
            ? .unix(path: text) : try RedisURL.tcpEndpoint(bytes, port: port, isEncoded: false)
        try endpoint.validate()
        self = endpoint
    }
}
