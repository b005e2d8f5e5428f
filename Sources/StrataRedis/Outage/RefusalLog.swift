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
        logger.warning(
            "Redis refuses what the cache asks of it",
            metadata: ["redis.endpoint": "\(endpoint)", "redis.role": "\(role.rawValue)", "error": "\(code)"]
        )
    }
}
