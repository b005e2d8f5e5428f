internal import Strata

extension RedisURL {
    /// The long name under which a URL gives verification up.
    static let anyCertificate = "dangerously-accept-any-certificate"

    /// The options of a `rediss://` URL, whose parameters are taken out of the others.
    ///
    /// - Parameter query: `name=value`, with `&` between; keeps what is not of TLS.
    /// - Returns: The options.
    /// - Throws: ``RedisError/Code/invalidConfiguration`` for a parameter without a value, or given twice.
    static func takeTLS(from query: inout [ArraySlice<UInt8>]) throws(RedisError) -> TLSOptions {
        var options = TLSOptions()
        var seen: Set<String> = []
        var rest: [ArraySlice<UInt8>] = []
        for parameter in query {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(decoding: parts[0], as: UTF8.self)
            guard ["ca", "cert", "key", "server-name", "tls13", anyCertificate].contains(name) else {
                rest.append(parameter)
                continue
            }
            guard parts.count == 2, !parts[1].isEmpty, seen.insert(name).inserted else {
                throw RedisError(
                    code: .invalidConfiguration,
                    message: "the parameter \(name) of the URL has no value, or is given twice"
                )
            }
            let value = try decode(parts[1], part: "parameter \(name)")
            switch name {
            case "ca": options.authorities = value
            case "cert": options.certificate = value
            case "key": options.key = value
            case "server-name": options.serverName = value
            case "tls13": options.requiresTLS13 = try flag(value, name)
            default: options.dangerouslyAcceptsAnyCertificate = try flag(value, name)
            }
        }
        query = rest
        return options
    }

    private static func flag(_ value: String, _ name: String) throws(RedisError) -> Bool {
        guard let flag = Bool(value) else {
            throw RedisError(
                code: .invalidConfiguration,
                message: "the parameter \(name) of the URL is neither true nor false"
            )
        }
        return flag
    }
}
