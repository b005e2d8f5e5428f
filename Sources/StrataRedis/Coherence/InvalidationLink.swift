internal import Logging
internal import Strata
internal import Synchronization

/// The invalidation link of a client as the rest of the library sees it: keyspaces ask to be told, and are.
///
/// Listeners are told on the I/O thread, in the order in which the server told; they must be quick and must not block.
final class InvalidationLink: Sendable {
    /// One that tells, and one that takes its place when there is more to be told of.
    static let links = 2

    private final class Link: Sendable {
        let machine: Locked<LinkMachine>

        init(_ settings: LinkSettings) {
            machine = Locked(LinkMachine(settings: settings, seed: .random(in: 0 ... .max)))
        }
    }

    private struct Entry: Sendable {
        let number: UInt64
        let keyspace: Keyspace
        let listener: any LinkListener
        /// The link by which the listener is told; `nil` while none tells.
        var link: Int?
    }

    private struct Listeners: Sendable {
        var all: [Entry] = []
        var lastNumber: UInt64 = 0
        /// Whether the topics have changed since a driver last looked.
        var hasNews = false
        var succession = LinkSuccession()
        var lastRefusal: String?

        /// Has those told by a link whose keyspaces it covers and whom nobody tells, and returns them.
        mutating func join(_ link: Int) -> [any LinkListener] {
            var joined: [any LinkListener] = []
            for index in all.indices where all[index].link == nil && succession.covers(all[index].keyspace, link) {
                all[index].link = link
                joined.append(all[index].listener)
            }
            return joined
        }

        /// Has those told by the active link that were told by the other.
        mutating func moveToActive() {
            for index in all.indices where all[index].link == succession.spare { all[index].link = succession.active }
        }

        var topics: LinkTopics {
            var topics = LinkTopics()
            // The same keyspace may be used by several levels; the server refuses a prefix that is given twice.
            for keyspace in Set(all.map(\.keyspace)).sorted(by: { $0.values.lexicographicallyPrecedes($1.values) }) {
                topics.prefixes.append(keyspace.values)
                topics.prefixes.append(keyspace.tags)
                topics.channels.append(keyspace.events)
                guard all.contains(where: { $0.keyspace == keyspace && $0.listener.isDivided }) else { continue }
                topics.channels += KeyspacePart.all.map { keyspace.channel(of: $0) }
            }
            return topics
        }
    }

    private let links: [Link]
    private let listeners = Locked(Listeners())
    /// Why the link is to be made anew, until the driver has seen it.
    private let condemnations = Locked<[RedisError?]>([nil, nil])
    /// Counts what was left for the drivers, so that each finds out by one load that there is nothing.
    private let news = Atomic<UInt64>(0)
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
        links = (0..<Self.links).map { _ in Link(settings) }
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
            listeners.all.append(Entry(number: listeners.lastNumber, keyspace: keyspace, listener: listener))
            listeners.hasNews = true
            return listeners.lastNumber
        }
        callDrivers()
        return number
    }

    func remove(_ number: UInt64) {
        listeners.withLock { listeners in
            listeners.all.removeAll { $0.number == number }
            listeners.hasNews = true
        }
        callDrivers()
    }

    /// Why changes are not told at the moment, in words; `nil` while they are, and while nobody wants to be told.
    var refusal: String? { listeners.withLock { $0.all.isEmpty ? nil : $0.lastRefusal } }

    /// Gives the link up, and makes another.
    func condemn(_ error: RedisError) {
        condemnations.withLock { $0 = [error, error] }
        callDrivers()
    }

    private func callDrivers() {
        news.wrappingAdd(1, ordering: .releasing)
        wakeup.signal()
    }

    // MARK: For the driver

    /// The drivers of both links.
    func drivers(for thread: LoopThread) -> [any LoopDriver] {
        (0..<Self.links).map { LinkDriver(link: self, number: $0, thread: thread) }
    }

    /// Another number than before when there may be something to take.
    var latestNews: UInt64 { news.load(ordering: .acquiring) }

    func takeCondemnation(of link: Int) -> RedisError? { condemnations.withLock { $0[link].take() } }

    func withMachine<Result>(_ link: Int, _ body: (inout LinkMachine) -> Result) -> Result {
        links[link].machine.withLock { body(&$0) }
    }

    /// The topics that a link is to listen to, if they have changed.
    func takeTopics(of link: Int) -> LinkTopics? {
        let (topics, joined, until) = listeners.withLock { listeners in
            var joined: [any LinkListener] = []
            let active = listeners.succession.active
            if listeners.hasNews {
                listeners.hasNews = false
                listeners.succession.want(listeners.topics)
                // Of their keyspace the link tells already.
                if listeners.succession.trust[active] != nil { joined = listeners.join(active) }
            }
            return (listeners.succession.takeOrder(of: link), joined, listeners.succession.trust[active])
        }
        if let until { for listener in joined { listener.linkEstablished(trustedUntil: until) } }
        return topics
    }

    func shutDown() {
        for link in 0..<Self.links {
            var notices: [LinkMachine.Notice] = []
            _ = links[link].machine.withLock { $0.shutDown(&notices) }
            for notice in notices { tell(notice, by: link) }
        }
        callDrivers()
    }

    func tell(_ notice: LinkMachine.Notice, by link: Int) {
        switch notice {
        case .established(let until):
            established(link, until)
            news.wrappingAdd(1, ordering: .releasing)
        case .trusted(let until, let told):
            if trusted(link, until, told) { news.wrappingAdd(1, ordering: .releasing) }
        case .lost(let error):
            lost(link, error)
            news.wrappingAdd(1, ordering: .releasing)
        case .changed(let keys):
            let all = listeners.withLock { $0.all }
            for key in keys {
                for entry in all where key.starts(with: entry.keyspace.values) { entry.listener.changed(key) }
                for entry in all where key.starts(with: entry.keyspace.tags) {
                    if let part = entry.keyspace.part(ofMarks: key) { entry.listener.marksChanged(part) }
                }
            }
        case .everythingChanged:
            for entry in listeners.withLock({ $0.all }) { entry.listener.everythingChanged() }
        case .event(let channel, let message):
            for entry in listeners.withLock({ $0.all }) {
                if let part = entry.keyspace.part(ofChannel: channel) { entry.listener.event(message, part) }
            }
        }
    }

    private func established(_ link: Int, _ until: MonotonicInstant) {
        noteState(nil)
        connected()
        let joined = listeners.withLock { listeners in
            listeners.succession.established(link, until: until, at: .now)
            return listeners.join(link)
        }
        for listener in joined { listener.linkEstablished(trustedUntil: until) }
    }

    /// Returns whether the other link has taken this one's place.
    private func trusted(_ link: Int, _ until: MonotonicInstant, _ told: MonotonicInstant) -> Bool {
        let (trusting, isSucceeded) = listeners.withLock { listeners in
            let trusting = listeners.all.filter { $0.link == link }
            let isSucceeded = listeners.succession.trusted(link, until: until, told: told)
            if isSucceeded { listeners.moveToActive() }
            return (trusting, isSucceeded)
        }
        for entry in trusting { entry.listener.linkTrusted(until: until, told: told) }
        return isSucceeded
    }

    private func lost(_ link: Int, _ error: RedisError) {
        let (left, joined, until, isNews) = listeners.withLock { listeners in
            let isNews = listeners.succession.isWanted(link)
            let left = listeners.all.filter { $0.link == link || $0.link == nil }
            for index in listeners.all.indices where listeners.all[index].link == link {
                listeners.all[index].link = nil
            }
            let isSucceeded = listeners.succession.lost(link)
            let active = listeners.succession.active
            let joined = isSucceeded ? listeners.join(active) : []
            return (left, joined, listeners.succession.trust[active], isNews)
        }
        if isNews { noteState(error) }
        for entry in left { entry.listener.linkLost() }
        if let until { for listener in joined { listener.linkEstablished(trustedUntil: until) } }
    }

    /// Says once when changes begin or cease to be told; a refusal names what was refused.
    private func noteState(_ error: RedisError?) {
        let text = error.map { "\($0.code): \($0.message)" }
        let isNews = listeners.withLock { listeners in
            defer { listeners.lastRefusal = text }
            return listeners.lastRefusal != text
        }
        // That the client ends is no news to whoever has ended it.
        guard isNews, error?.code != .shutDown, let logger else { return }
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
