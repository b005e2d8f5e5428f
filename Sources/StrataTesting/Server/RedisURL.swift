internal import Strata

/// The parts of the URL of a server that the kit did not start: `redis://[[user]:password@]host[:port][/database]` or
/// `unix:///path`.
package struct RedisURL: Sendable {
    package var endpoint: TestEndpoint
    package var credentials: RedisServer.Credentials?
    package var database = 0

    package init(_ text: String) throws {
        if let path = text.dropping(prefix: "unix://") {
            endpoint = .unix(path: String(path))
            return
        }
        guard let rest = text.dropping(prefix: "redis://") else {
            throw HarnessError(.invalidAddress, "the URL of a test server begins with redis:// or unix://")
        }
        let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var authority = parts[0]
        if parts.count > 1, !parts[1].isEmpty {
            guard let number = Int(parts[1]), number >= 0 else {
                throw HarnessError(.invalidAddress, "the database of a URL is a number")
            }
            database = number
        }
        if let at = authority.lastIndex(of: "@") {
            credentials = try Self.credentials(authority[..<at])
            authority = authority[authority.index(after: at)...]
        }
        endpoint = try Self.endpoint(authority)
    }

    private static func credentials(_ text: Substring) throws -> RedisServer.Credentials {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let name = decoded(parts[0]), let password = decoded(parts[1]) else {
            throw HarnessError(.invalidAddress, "credentials in a URL have the form user:password@ or :password@")
        }
        return .init(username: name.isEmpty ? nil : name, password: password)
    }

    private static func endpoint(_ authority: Substring) throws -> TestEndpoint {
        var host = authority
        var port: UInt16 = 6379
        let bracket = authority.lastIndex(of: "]") ?? authority.startIndex
        if let colon = authority[bracket...].lastIndex(of: ":") {
            guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else {
                throw HarnessError(.invalidAddress, "the port of a URL is a number from 1 to 65535")
            }
            port = number
            host = authority[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        }
        guard !host.isEmpty else { throw HarnessError(.invalidAddress, "the URL names no host") }
        return .tcp(host: String(host), port: port)
    }

    private static func decoded(_ text: Substring) -> String? {
        PercentEncoding.decode(text.utf8, anyCase: true).flatMap { String(validating: $0, as: UTF8.self) }
    }
}

extension String {
    fileprivate func dropping(prefix: String) -> Substring? {
        hasPrefix(prefix) ? dropFirst(prefix.count) : nil
    }
}
