internal import Logging
internal import Strata

/// Tells of changes of a client's connections: one line for each change of state, however often an attempt fails.
final class ConnectionObserver: Sendable {
    private let logger: Logger?
    private let endpoint: String
    private let connected: @Sendable () -> Void
    private let lastFailure = Locked<String?>(nil)

    /// - Parameters:
    ///   - logger: Gets a line for each change.
    ///   - endpoint: The server.
    ///   - connected: Called when a connection may be used.
    init(logger: Logger?, endpoint: String, connected: @escaping @Sendable () -> Void = {}) {
        self.logger = logger
        self.endpoint = endpoint
        self.connected = connected
    }

    func ready() {
        connected()
        let hadFailed = lastFailure.withLock { $0.take() != nil }
        logger?
            .log(level: hadFailed ? .info : .debug, "connected to Redis", metadata: ["redis.endpoint": "\(endpoint)"])
    }

    func failed(_ error: RedisError) {
        let kind = [error.code.description, error.tlsReason?.description].compactMap { $0 }.joined(separator: ": ")
        let isNews = lastFailure.withLock { last in
            defer { last = kind }
            return last != kind
        }
        guard isNews else { return }
        logger?
            .info(
                "no connection to Redis",
                metadata: ["redis.endpoint": "\(endpoint)", "error": "\(error.code): \(error.message)"]
            )
    }
}
