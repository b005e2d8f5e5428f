/// A parsed `redis://` or `unix://` URL.
///
/// The user information is taken out at once and never printed.
///
/// Forms: `redis://[[user]:password@]host[:port][/database]` and `unix://[[user]:password@]/path[?db=database]`; the port is
/// 6379 and the database 0 by default. User and password are percent-decoded.
struct RedisURL {
    var endpoint: RedisEndpoint
    var username: String?
    var password: Secret?
    var database: Int

    init(_ text: String) throws(RedisError) {
        guard let separator = Self.firstRange(of: "://", in: text) else {
            throw Self.invalid("the URL has no scheme; use redis://host:port or unix:///path")
        }
        let scheme = text[..<separator.lowerBound].lowercased()
        var rest = text[separator.upperBound...]
        (username, password) = try Self.takeUserInformation(from: &rest, authorityEnds: scheme == "unix" ? nil : "/")
        let query = try Self.takeQuery(from: &rest)
        switch scheme {
        case "redis":
            let path = Self.take(from: "/", of: &rest)
            endpoint = try Self.tcpEndpoint(rest)
            database = try Self.database(path: path, query: query)
        case "unix":
            guard rest.hasPrefix("/") else { throw Self.invalid("the path of a unix:// URL is not absolute") }
            endpoint = .unix(path: try Self.decode(rest, part: "path"))
            database = try Self.database(path: nil, query: query)
        case "rediss":
            throw Self.invalid("rediss:// asks for TLS, which this build does not have")
        default:
            throw Self.invalid("the scheme of the URL is none of redis, unix")
        }
    }

    private static func takeUserInformation(
        from rest: inout Substring,
        authorityEnds end: Character?
    ) throws(RedisError) -> (String?, Secret?) {
        let authority = end.flatMap { rest.firstIndex(of: $0) }.map { rest[..<$0] } ?? rest
        // The last @ ends the user information: an unescaped one inside a password is then still not taken for a host.
        guard let at = authority.lastIndex(of: "@") else { return (nil, nil) }
        let information = rest[..<at]
        rest = rest[rest.index(after: at)...]
        guard let colon = information.firstIndex(of: ":") else {
            return (information.isEmpty ? nil : try decode(information, part: "user name"), nil)
        }
        let user = try decode(information[..<colon], part: "user name")
        let password = try decode(information[information.index(after: colon)...], part: "password")
        return (user.isEmpty ? nil : user, password.isEmpty ? nil : Secret(password))
    }

    private static func takeQuery(from rest: inout Substring) throws(RedisError) -> String? {
        guard let query = take(from: "?", of: &rest), !query.isEmpty else { return nil }
        guard query.hasPrefix("db="), !query.contains("&") else {
            throw invalid("the only parameter a Redis URL may have is db")
        }
        return String(query.dropFirst(3))
    }

    private static func tcpEndpoint(_ authority: Substring) throws(RedisError) -> RedisEndpoint {
        var host = authority
        var port: UInt16 = 6379
        if let bracket = authority.firstIndex(of: "]"), authority.hasPrefix("[") {
            host = authority[authority.index(after: authority.startIndex)..<bracket]
            let tail = authority[authority.index(after: bracket)...]
            if !tail.isEmpty { port = try Self.port(tail) }
        } else if let colon = authority.lastIndex(of: ":") {
            host = authority[..<colon]
            port = try Self.port(authority[colon...])
        }
        let name = try decode(host, part: "host")
        guard !name.isEmpty, !name.utf8.contains(0), name.utf8.count <= 255 else {
            throw invalid("the URL has no usable host")
        }
        return .tcp(host: name, port: port)
    }

    private static func port(_ text: Substring) throws(RedisError) -> UInt16 {
        guard text.hasPrefix(":"), let port = UInt16(text.dropFirst()), port > 0 else {
            throw invalid("the port of the URL is no number from 1 to 65535")
        }
        return port
    }

    private static func database(path: Substring?, query: String?) throws(RedisError) -> Int {
        let path = path.flatMap { $0.isEmpty ? nil : String($0) }
        guard path == nil || query == nil else { throw invalid("the URL names a database twice") }
        guard let text = path ?? query else { return 0 }
        guard let database = Int(text), (0...Int(Int32.max)).contains(database) else {
            throw invalid("the database of the URL is no number")
        }
        return database
    }

    /// Cuts `rest` at the first `separator` and returns what follows it.
    private static func take(from separator: Character, of rest: inout Substring) -> Substring? {
        guard let index = rest.firstIndex(of: separator) else { return nil }
        defer { rest = rest[..<index] }
        return rest[rest.index(after: index)...]
    }

    private static func decode(_ text: Substring, part: String) throws(RedisError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                throw invalid("the \(part) of the URL holds a % that begins no escape")
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw invalid("the \(part) of the URL is no UTF-8")
        }
        return decoded
    }

    private static func firstRange(of needle: String, in text: String) -> Range<String.Index>? {
        var start = text.startIndex
        while start < text.endIndex {
            if text[start...].hasPrefix(needle) {
                return start..<text.index(start, offsetBy: needle.count)
            }
            start = text.index(after: start)
        }
        return nil
    }

    private static func invalid(_ message: String) -> RedisError {
        RedisError(code: .invalidConfiguration, message: message)
    }
}
