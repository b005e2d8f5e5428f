internal import Logging
internal import Strata
internal import Synchronization

/// Tells of changes of a client's connections: one line for each change of state, however often an attempt fails.
final class ConnectionObserver: Sendable {
    private let logger: Logger?
    private let endpoint: String
    private let connected: @Sendable () -> Void
    private let failures = Locked<Set<String>>([])
    private let lastRemark = Locked<String?>(nil)
    private let opened = Atomic<Int>(0)

    /// How many connections could be used so far, one after the other or beside each other.
    var openings: Int { opened.load(ordering: .acquiring) }

    /// - Parameters:
    ///   - logger: Gets a line for each change.
    ///   - endpoint: The server.
    ///   - connected: Called when a connection may be used.
    init(logger: Logger?, endpoint: String, connected: @escaping @Sendable () -> Void = {}) {
        self.logger = logger
        self.endpoint = endpoint
        self.connected = connected
    }

    /// A connection may be used.
    ///
    /// - Parameters:
    ///   - peer: Where the server listens that it leads to.
    ///   - remark: What is to be said of that server.
    func ready(at peer: String, _ remark: String?) {
        opened.wrappingAdd(1, ordering: .releasing)
        connected()
        let hadFailed = failures.withLock { !exchange(&$0, with: []).isEmpty }
        var metadata: Logger.Metadata = ["redis.endpoint": "\(endpoint)"]
        if peer != endpoint { metadata["redis.server"] = "\(peer)" }
        logger?.log(level: hadFailed ? .info : .debug, "connected to Redis", metadata: metadata)
        let isNews = lastRemark.withLock { last in
            defer { last = remark }
            return last != remark
        }
        if isNews, let remark { logger?.warning("\(remark)", metadata: metadata) }
    }

    func failed(_ error: RedisError) {
        guard failures.withLock({ $0.insert(error.kind).inserted }) else { return }
        // A wrong configuration does not mend by itself: an operator has to read this.
        let level: Logger.Level = error.isOfConfiguration || error.code == .noPrimary ? .warning : .info
        var metadata: Logger.Metadata = ["redis.endpoint": "\(endpoint)", "error": "\(error.code): \(error.message)"]
        if let server = error.endpoint, server != endpoint { metadata["redis.server"] = "\(server)" }
        logger?.log(level: level, "no connection to Redis", metadata: metadata)
    }
}

extension RedisError {
    /// What tells it from failures of another kind: those of one kind are logged once.
    var kind: String { [code.description, tlsReason?.description].compactMap { $0 }.joined(separator: ": ") }
}
