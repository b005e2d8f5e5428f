internal import Logging
internal import Strata

/// Logs that a server refuses a cache's calls: one line for each role when the reason changes, and one a minute while
/// it stays.
final class RefusalLog: Sendable {
    private static let interval: Duration = .seconds(60)

    private let endpoint: String
    private let logger: Logger?
    private let last = Locked<[RedisRole: (code: String, at: MonotonicInstant)]>([:])

    init(endpoint: String, logger: Logger?) {
        self.endpoint = endpoint
        self.logger = logger
    }

    /// An error reply has come to a call of a role.
    func note(_ error: RedisError, _ role: RedisRole, at now: MonotonicInstant = .now) {
        guard let logger, let text = error.serverMessage else { return }
        let code = RedisError.printableCode(of: text)
        let isNews = last.withLock { last in
            if let known = last[role], known.code == code, known.at.duration(to: now) < Self.interval { return false }
            last[role] = (code, now)
            return true
        }
        guard isNews else { return }
        var metadata = Self.metadata(of: error)
        metadata["redis.endpoint"] = "\(endpoint)"
        metadata["redis.role"] = "\(role.rawValue)"
        logger.warning("Redis refuses what the cache asks of it", metadata: metadata)
    }

    /// An error's name, for an error reply its code; and the command that was refused, where it names that.
    static func metadata(of error: any Error) -> Logger.Metadata {
        guard let text = (error as? RedisError)?.serverMessage else {
            return ["error": "\(CacheError.name(of: error))"]
        }
        var metadata: Logger.Metadata = ["error": "\(RedisError.printableCode(of: text))"]
        if let command = command(in: text) { metadata["command"] = "\(command)" }
        return metadata
    }

    /// The command that a user may not run, or that the server does not have, if the refusal names it; nothing else of
    /// it.
    static func command(in text: String) -> String? {
        let beginnings = ["has no permissions to run the '", "ERR unknown command '", "ERR unknown command `"]
        for beginning in beginnings {
            guard let range = text.firstRange(of: beginning) else { continue }
            let name = text[range.upperBound...].prefix { $0 != "'" && $0 != "`" }
            let isName = name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                default: byte == UInt8(ascii: "|") || byte == UInt8(ascii: "-")
                }
            }
            return isName && (1...40).contains(name.utf8.count) ? name.lowercased() : nil
        }
        return nil
    }
}
