internal import Logging
internal import Strata

/// The invalidation link of a client as the rest of the library sees it: keyspaces ask to be told, and are.
///
/// Listeners are told on the I/O thread, in the order in which the server told; they must be quick and must not block.
final class InvalidationLink: Sendable {
    private struct Listeners: Sendable {
        var all: [(number: UInt64, keyspace: Keyspace, listener: any LinkListener)] = []
        var lastNumber: UInt64 = 0
        /// Whether the topics have changed since the driver last looked.
        var hasNews = false
        /// What is known of the link, for those who come later.
        var trustedUntil: MonotonicInstant?
        var lastRefusal: String?

        var topics: LinkTopics {
            var topics = LinkTopics()
            // The same keyspace may be used by several levels; the server refuses a prefix that is given twice.
            for keyspace in Set(all.map(\.keyspace)).sorted(by: { $0.values.lexicographicallyPrecedes($1.values) }) {
                topics.prefixes.append(keyspace.values)
                topics.prefixes.append(keyspace.tags)
                topics.channels.append(keyspace.events)
            }
            return topics
        }
    }

    private let machine: Locked<LinkMachine>
    private let listeners = Locked(Listeners())
    /// Why the link is to be made anew, until the driver has seen it.
    private let condemnation = Locked<RedisError?>(nil)
    private let wakeup: Wakeup
    private let logger: Logger?
    private let endpoint: String
    private let connected: @Sendable () -> Void

    init(
        settings: LinkSettings,
        wakeup: Wakeup,
        logger: Logger?,
        connected: @escaping @Sendable () -> Void = {}
    ) {
        self.connected = connected
        machine = Locked(LinkMachine(settings: settings, seed: .random(in: 0 ... .max)))
        endpoint = settings.endpoint
        self.wakeup = wakeup
        self.logger = logger
    }

    /// Asks to be told of changes in a keyspace.
    ///
    /// Returns a number by which to take that back.
    func add(_ listener: any LinkListener, for keyspace: Keyspace) -> UInt64 {
        let number = listeners.withLock { listeners in
            listeners.lastNumber += 1
            listeners.all.append((listeners.lastNumber, keyspace, listener))
            listeners.hasNews = true
            return listeners.lastNumber
        }
        wakeup.signal()
        return number
    }

    func remove(_ number: UInt64) {
        listeners.withLock { listeners in
            listeners.all.removeAll { $0.number == number }
            listeners.hasNews = true
        }
        wakeup.signal()
    }

    /// Why changes are not told at the moment, in words; `nil` while they are.
    var refusal: String? { listeners.withLock { $0.lastRefusal } }

    /// Gives the link up, and makes another.
    func condemn(_ error: RedisError) {
        condemnation.withLock { $0 = error }
        wakeup.signal()
    }

    // MARK: For the driver

    func takeCondemnation() -> RedisError? { condemnation.withLock { $0.take() } }

    func withMachine<Result>(_ body: (inout LinkMachine) -> Result) -> Result {
        machine.withLock { body(&$0) }
    }

    /// The topics, if they have changed.
    func takeTopics() -> LinkTopics? {
        listeners.withLock { listeners in
            guard listeners.hasNews else { return nil }
            listeners.hasNews = false
            return listeners.topics
        }
    }

    func shutDown() {
        var notices: [LinkMachine.Notice] = []
        _ = machine.withLock { $0.shutDown(&notices) }
        for notice in notices { tell(notice) }
        wakeup.signal()
    }

    func tell(_ notice: LinkMachine.Notice) {
        let all = listeners.withLock { $0.all }
        switch notice {
        case .established(let until):
            noteState(nil)
            connected()
            for entry in all { entry.listener.linkEstablished(trustedUntil: until) }
        case .trusted(let until, let told):
            for entry in all { entry.listener.linkTrusted(until: until, told: told) }
        case .lost(let error):
            noteState(error)
            for entry in all { entry.listener.linkLost() }
        case .changed(let keys):
            for key in keys {
                for entry in all where key.starts(with: entry.keyspace.values) { entry.listener.changed(key) }
                for entry in all where key == entry.keyspace.marks { entry.listener.marksChanged() }
            }
        case .everythingChanged:
            for entry in all { entry.listener.everythingChanged() }
        case .event(let channel, let message):
            for entry in all where channel == entry.keyspace.events { entry.listener.event(message) }
        }
    }

    /// Says once when changes begin or cease to be told; a refusal names what was refused.
    private func noteState(_ error: RedisError?) {
        let text = error.map { "\($0.code): \($0.message)" }
        let isNews = listeners.withLock { listeners in
            defer { listeners.lastRefusal = text }
            return listeners.lastRefusal != text
        }
        guard isNews, let logger else { return }
        let metadata: Logger.Metadata = ["redis.endpoint": "\(endpoint)"]
        guard let error, let text else {
            return logger.info("changes made by others are told", metadata: metadata)
        }
        // A permission that is missing does not come by itself: somebody has to read this.
        let level: Logger.Level = error.code == .server || error.code == .authentication ? .warning : .info
        logger.log(
            level: level,
            "changes made by others are not told: memory is kept for a short time only",
            metadata: metadata.merging(["error": "\(text)"]) { $1 }
        )
    }
}
