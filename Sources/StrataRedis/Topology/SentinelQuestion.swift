internal import Strata

/// The conversation with one Sentinel: what it is, where the primary is, and how new that knowledge is.
///
/// ```text
/// AUTH, HELLO ──▶ (SENTINEL MASTERS, where no name was given) ──▶ GET-MASTER-ADDR-BY-NAME, MASTER
/// ```
///
/// During a failover GET-MASTER-ADDR-BY-NAME names the new primary as soon as it has been promoted; MASTER has the
/// number of the configuration, and needs a permission of its own, without which an answer counts as old.
struct SentinelQuestion: Sendable {
    private enum Step {
        case authenticating
        case identifying
        case choosing
        case locating
        case dating(RedisEndpoint)
    }

    private let isAuto: Bool
    private let login: SentinelLogin?
    private let endpoint: String
    private var name: String
    private var step: Step

    /// - Parameters:
    ///   - configuration: The Sentinels, and what a server would be told that is none.
    ///   - options: The Sentinels.
    ///   - endpoint: The one that is asked.
    init(_ configuration: RedisConfiguration, _ options: SentinelOptions, endpoint: RedisEndpoint) {
        self.endpoint = endpoint.description
        isAuto = configuration.topology == .auto
        name = options.primary
        login = SentinelLogin(configuration, options)
        step = login == nil ? .identifying : .authenticating
    }

    /// Writes what is asked first.
    func begin(_ writer: inout CommandWriter) {
        login?.credentials.encodeLogin(into: &writer)
        writer.begin(2)
        writer.argument("HELLO" as StaticString)
        writer.argument("2" as StaticString)
    }

    /// Takes a reply, and writes what is asked next.
    ///
    /// - Returns: The answer, when it is complete.
    mutating func received(_ reply: RESPValue, _ writer: inout CommandWriter) -> SentinelAnswer? {
        switch step {
        case .authenticating:
            step = .identifying
            guard case .error(let text) = reply, login?.isRequired == true else { return nil }
            return .failed(refused("AUTH", text))
        case .identifying: return identified(by: reply, &writer)
        case .choosing: return chosen(from: reply, &writer)
        case .locating: return located(by: reply)
        case .dating(let primary): return .primary(primary, epoch: Self.epoch(in: reply))
        }
    }

    private mutating func identified(by reply: RESPValue, _ writer: inout CommandWriter) -> SentinelAnswer? {
        if case .error(let text) = reply, !text.hasPrefix("ERR unknown command") {
            return .failed(refused("HELLO", text))
        }
        let mode = ServerIdentity(reply)?.mode
        switch mode {
        case .sentinel: break
        case .cluster: return isAuto ? .cluster : .failed(wrong("is a node of a cluster, not a Sentinel"))
        case nil where !isAuto: break  // Older than HELLO; what it is asked now only a Sentinel knows.
        case .standalone, nil: return isAuto ? .single : .failed(wrong("is a Redis server, not a Sentinel"))
        }
        if name.isEmpty {
            step = .choosing
            Self.write(["SENTINEL", "MASTERS"], &writer)
        } else {
            ask(&writer)
        }
        return nil
    }

    private mutating func ask(_ writer: inout CommandWriter) {
        step = .locating
        Self.write(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name], &writer)
        Self.write(["SENTINEL", "MASTER", name], &writer)
    }

    private mutating func chosen(from reply: RESPValue, _ writer: inout CommandWriter) -> SentinelAnswer? {
        guard case .array(let primaries) = reply else { return .failed(refused("SENTINEL MASTERS", reply)) }
        guard primaries.count == 1, let name = Self.field("name", of: primaries[0])?.string, !name.isEmpty else {
            return .failed(wrong("watches \(primaries.count) primaries: name one with the parameter master"))
        }
        self.name = name
        ask(&writer)
        return nil
    }

    private mutating func located(by reply: RESPValue) -> SentinelAnswer? {
        switch reply {
        case .null: return .unknown
        case .array(let parts):
            guard let primary = Self.endpoint(parts) else { return .failed(wrong("names no usable address")) }
            step = .dating(primary)
            return nil
        default: return .failed(refused("SENTINEL", reply))
        }
    }

    // MARK: Parts

    /// A host and a port, checked as those of a configuration are.
    static func endpoint(_ parts: [RESPValue]) -> RedisEndpoint? {
        guard parts.count == 2, case .bytes(let bytes) = parts[0],
            let host = String(validating: bytes, as: UTF8.self),
            let port = parts[1].number(in: 1...65_535)
        else { return nil }
        let endpoint = RedisEndpoint.tcp(host: host, port: UInt16(port))
        return (try? endpoint.validate()) == nil ? nil : endpoint
    }

    private static func epoch(in reply: RESPValue) -> UInt64 {
        field("config-epoch", of: reply).flatMap { $0.number(in: 0 ... .max) }.map(UInt64.init) ?? 0
    }

    private static func field(_ name: String, of reply: RESPValue) -> RESPValue? {
        guard case .array(let parts) = reply else { return nil }
        let index = stride(from: 0, to: parts.count - 1, by: 2).first { parts[$0].string == name }
        return index.map { parts[$0 + 1] }
    }

    private static func write(_ words: [String], _ writer: inout CommandWriter) {
        writer.begin(words.count)
        for word in words { writer.argument(word) }
    }

    private func refused(_ command: String, _ reply: RESPValue) -> RedisError {
        guard case .error(let text) = reply else {
            return wrong("does not answer \(command) as a Sentinel does")
        }
        return refused(command, text)
    }

    private func refused(_ command: String, _ text: String) -> RedisError {
        let isLogin = command == "AUTH" || text.hasPrefix("NOAUTH") || text.hasPrefix("WRONGPASS")
        return RedisError(
            code: isLogin ? .authentication : .server,
            message: "refuses \(command): \(RedisError.printableCode(of: text))",
            endpoint: endpoint
        )
    }

    private func wrong(_ message: String) -> RedisError {
        RedisError(code: .wrongServer, message: message, endpoint: endpoint)
    }
}
