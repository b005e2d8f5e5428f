internal import Strata

/// A parsed `redis://`, `redis-sentinel://` or `unix://` URL.
///
/// The user information is taken out at once and never printed.
///
/// Forms: `redis://[[user]:password@]host[:port][/database]`, `unix://[[user]:password@]/path[?db=database]`,
/// `redis-sentinel://[[user]:password@]host[:port][,host[:port]…][/database]?master=name` and
/// `redis-cluster://[[user]:password@]host[:port][,host[:port]…]`, with TLS `rediss://`, `rediss-sentinel://` and
/// `rediss-cluster://`; the port is 6379, a Sentinel's 26379, and the database 0 by default. User, password, host, path
/// and parameters are percent-decoded.
///
/// It is taken apart byte by byte: for a `Character`, an `@` before a combining mark is no `@`, and what is in front of
/// it would be taken for the host.
struct RedisURL {
    typealias Bytes = ArraySlice<UInt8>

    var endpoint: RedisEndpoint
    var username: String?
    var password: Secret?
    var database: Int
    var tls: TLSOptions?
    var topology: RedisTopology
    /// The servers that are to be asked where the primary is, if any.
    var sentinels: SentinelOptions?
    /// The nodes of a cluster behind the first.
    var furtherEndpoints: [RedisEndpoint] = []
    /// How old a replica's answer may be.
    var replicaLagLimit: Duration?
    /// Of which changes the server tells.
    var tracking: TrackingMode

    init(_ text: String) throws(RedisError) {
        let bytes = Array(text.utf8)
        guard let separator = bytes.firstRange(of: Array("://".utf8)) else {
            throw Self.invalid("the URL has no scheme; use redis://host:port or unix:///path")
        }
        let scheme = String(decoding: bytes[..<separator.lowerBound], as: UTF8.self).lowercased()
        let isUnix = scheme == "unix"
        var rest = bytes[separator.upperBound...]
        (username, password) = try Self.takeUserInformation(from: &rest, isUnix: isUnix)
        var parameters = try RedisURLParameters(Self.take(from: "?", of: &rest))
        if scheme.hasPrefix("rediss") { tls = try Self.takeTLS(from: &parameters) }
        topology = try Self.topology(&parameters, scheme)
        let query = parameters.take("db")
        let endpoints: [RedisEndpoint]
        switch scheme {
        case "redis", "rediss", "redis-sentinel", "rediss-sentinel", "redis-cluster", "rediss-cluster":
            let path = Self.take(from: "/", of: &rest)
            let port = topology == .sentinel ? SentinelOptions.defaultPort : 6379
            endpoints = try Self.endpoints(rest, port: port)
            database = try Self.database(path: path, query: query)
        case "unix":
            guard rest.first == UInt8(ascii: "/") else {
                throw Self.invalid("the path of a unix:// URL is not absolute")
            }
            endpoints = [.unix(path: try Self.decode(rest, part: "path"))]
            database = try Self.database(path: nil, query: query)
        default:
            throw Self.invalid(
                "the scheme of the URL is not one of redis, redis-sentinel, redis-cluster, unix, "
                    + "or with TLS rediss, rediss-sentinel, rediss-cluster"
            )
        }
        endpoint = endpoints[0]
        sentinels = try Self.sentinels(endpoints, topology, &parameters)
        if topology == .cluster { furtherEndpoints = Array(endpoints.dropFirst()) }
        replicaLagLimit = try Self.milliseconds("replicaLagLimit", &parameters)
        tracking = try Self.tracking(&parameters)
        try parameters.finish()
    }

    private static func tracking(_ parameters: inout RedisURLParameters) throws(RedisError) -> TrackingMode {
        guard let text = parameters.take("tracking") else { return .broadcast }
        guard let mode = TrackingMode(rawValue: String(decoding: text, as: UTF8.self)) else {
            throw invalid("tracking is not one of \(TrackingMode.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return mode
    }

    private static func takeUserInformation(
        from rest: inout Bytes,
        isUnix: Bool
    ) throws(RedisError) -> (String?, Secret?) {
        // The last @ ends the user information: an unescaped one inside a password is then still not taken for a host.
        // A path may have one, too, so for a Unix socket it has to be the last with a slash behind it.
        let authority = isUnix ? rest : rest.prefix { $0 != UInt8(ascii: "/") }
        let end = authority.indices.last { index in
            guard rest[index] == UInt8(ascii: "@") else { return false }
            return !isUnix || rest[(index + 1)...].first == UInt8(ascii: "/")
        }
        guard let end else { return (nil, nil) }
        let information = rest[..<end]
        // Else the host would be taken for a user, and the end of the parameter for the host.
        guard isUnix || !hasParameters(information) else {
            throw invalid("the URL has an @ after a ? and a parameter: write %40 for it")
        }
        rest = rest[(end + 1)...]
        guard let colon = information.firstIndex(of: UInt8(ascii: ":")) else {
            return (information.isEmpty ? nil : try decode(information, part: "user name"), nil)
        }
        let user = try decode(information[..<colon], part: "user name")
        let password = try decode(information[(colon + 1)...], part: "password")
        return (user.isEmpty ? nil : user, password.isEmpty ? nil : Secret(password))
    }

    /// Whether behind a question mark there is a name and an equals sign, as parameters have them.
    private static func hasParameters(_ text: Bytes) -> Bool {
        guard let mark = text.firstIndex(of: UInt8(ascii: "?")) else { return false }
        let name = text[(mark + 1)...].prefix { (0x41...0x5a).contains($0 & 0xdf) }
        return !name.isEmpty && text[name.endIndex...].first == UInt8(ascii: "=")
    }

    /// The address of a host with or without a port.
    ///
    /// - Parameters:
    ///   - authority: The text.
    ///   - port: The port where it has none.
    ///   - isEncoded: Whether `%` begins an encoded byte, as in a URL.
    /// - Returns: The address.
    /// - Throws: ``RedisError/Code/invalidConfiguration``, without quoting the text.
    static func tcpEndpoint(
        _ authority: Bytes,
        port: UInt16,
        isEncoded: Bool = true
    ) throws(RedisError) -> RedisEndpoint {
        var host = authority
        var port = port
        var isNumeric = false
        if authority.first == UInt8(ascii: "["), let bracket = authority.firstIndex(of: UInt8(ascii: "]")) {
            isNumeric = true
            host = authority[..<bracket].dropFirst()
            let tail = authority[(bracket + 1)...]
            if !tail.isEmpty { port = try Self.port(tail) }
        } else if let colon = authority.lastIndex(of: UInt8(ascii: ":")) {
            host = authority[..<colon]
            port = try Self.port(authority[colon...])
        }
        // Stricter than the system's resolver: in a host with other characters there is a part of a malformed URL,
        // maybe of its password, and a host is printed.
        let name = isEncoded ? try decode(host, part: "host") : String(decoding: host, as: UTF8.self)
        guard !name.isEmpty, name.utf8.count <= 255, name.utf8.allSatisfy({ isHostByte($0, isNumeric: isNumeric) })
        else {
            throw invalid("the URL has no usable host")
        }
        return .tcp(host: name, port: port)
    }

    private static func isHostByte(_ byte: UInt8, isNumeric: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: true
        case _ where "-._~".utf8.contains(byte): true
        default: isNumeric && ":%".utf8.contains(byte)
        }
    }

    private static func port(_ text: Bytes) throws(RedisError) -> UInt16 {
        guard text.first == UInt8(ascii: ":"), let number = number(text.dropFirst()), (1...65_535).contains(number)
        else {
            throw invalid("the port of the URL is not a number from 1 to 65535")
        }
        return UInt16(number)
    }

    private static func database(path: Bytes?, query: Bytes?) throws(RedisError) -> Int {
        let path = path.flatMap { $0.isEmpty ? nil : $0 }
        guard path == nil || query == nil else { throw invalid("the URL names a database twice") }
        guard let text = path ?? query else { return 0 }
        guard let database = number(text).flatMap(Int32.init(exactly:)) else {
            throw invalid("the database of the URL is not a number")
        }
        return Int(database)
    }

    /// A number of decimal digits and nothing else.
    private static func number(_ text: Bytes) -> Int? {
        let isDecimal = text.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return isDecimal ? Int(String(decoding: text, as: UTF8.self)) : nil
    }

    /// Cuts `rest` at the first `separator` and returns what follows it.
    private static func take(from separator: Unicode.Scalar, of rest: inout Bytes) -> Bytes? {
        guard let index = rest.firstIndex(of: UInt8(ascii: separator)) else { return nil }
        defer { rest = rest[..<index] }
        return rest[(index + 1)...]
    }

    static func decode(_ text: Bytes, part: String) throws(RedisError) -> String {
        guard let bytes = PercentEncoding.decode(text, anyCase: true) else {
            throw invalid("the \(part) of the URL has a % that does not begin an escape")
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw invalid("the \(part) of the URL is not UTF-8")
        }
        return decoded
    }

    static func invalid(_ message: String) -> RedisError {
        RedisError(code: .invalidConfiguration, message: message)
    }
}
