internal import Logging
internal import Strata
internal import Synchronization

/// The invalidation link of a client, at which keyspaces register listeners.
///
/// Calls listeners on the I/O thread, in the order of the server's notices. They must be quick and must not block.
final class InvalidationLink: Sendable {
    /// The active link, and one that takes its place when there are more topics.
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
        /// The link that serves the listener; `nil` while none does.
        var link: Int?
    }

    private struct Listeners: Sendable {
        var all: [Entry] = []
        var lastNumber: UInt64 = 0
        /// Whether the topics have changed since a driver last looked.
        var hasNews = false
        /// Whether the client has ended.
        var hasEnded = false
        /// Whether the server is to tell only of what was read.
        var tracksReads: Bool
        var succession = LinkSuccession()
        var lastRefusal: String?
        /// The kinds of failures that were logged since a link stood.
        var toldOf: Set<String> = []

        /// Assigns a link to the unserved listeners whose keyspaces it covers, and returns them.
        mutating func join(_ link: Int) -> [any LinkListener] {
            var joined: [any LinkListener] = []
            for index in all.indices where all[index].link == nil && succession.covers(all[index].keyspace, link) {
                all[index].link = link
                joined.append(all[index].listener)
            }
            return joined
        }

        /// Moves the listeners of the other link to the active one.
        mutating func moveToActive() {
            for index in all.indices where all[index].link == succession.spare { all[index].link = succession.active }
        }

        var topics: LinkTopics {
            var topics = LinkTopics()
            topics.tracksReads = tracksReads && !all.isEmpty
            // The same keyspace may be used by several levels; the server refuses a prefix that is given twice.
            for keyspace in Set(all.map(\.keyspace)).sorted(by: { $0.values.lexicographicallyPrecedes($1.values) }) {
                if !tracksReads || all.contains(where: { $0.keyspace == keyspace && $0.listener.hearsEverything }) {
                    topics.prefixes.append(keyspace.values)
                }
                topics.prefixes.append(keyspace.tags)
                topics.channels.append(keyspace.events)
                if all.contains(where: { $0.keyspace == keyspace && $0.listener.hearsLeases }) {
                    topics.prefixes.append(keyspace.leases)
                }
                guard all.contains(where: { $0.keyspace == keyspace && $0.listener.isDivided }) else { continue }
                topics.channels += KeyspacePart.all.map { keyspace.channel(of: $0) }
            }
            return topics
        }
    }

    private let links: [Link]
    private let listeners: Locked<Listeners>
    /// Why the link must be made anew, until the driver has seen it.
    private let condemnations = Locked<[RedisError?]>([nil, nil])
    /// Counts messages for the drivers, so that each finds out with one load that there is none.
    private let news = Atomic<UInt64>(0)
    private let wakeup: Wakeup
    private let logger: Logger?
    private let endpoint: String
    private let database: Int
    private let connected: @Sendable () -> Void
    private let trackingRefused = Locked<(@Sendable () -> Void)?>(nil)

    init(
        settings: LinkSettings,
        wakeup: Wakeup,
        logger: Logger?,
        connected: @escaping @Sendable () -> Void = {}
    ) {
        self.connected = connected
        listeners = Locked(Listeners(tracksReads: settings.tracksReads))
        links = (0..<Self.links).map { _ in Link(settings) }
        endpoint = settings.endpoint
        database = settings.database
        self.wakeup = wakeup
        self.logger = logger
    }

    /// Registers a listener for changes in a keyspace.
    ///
    /// Returns the number by which to remove it.
    func add(_ listener: any LinkListener, for keyspace: Keyspace) -> UInt64 {
        let (number, hasEnded) = listeners.withLock { listeners in
            listeners.lastNumber += 1
            listeners.all.append(Entry(number: listeners.lastNumber, keyspace: keyspace, listener: listener))
            listeners.hasNews = true
            return (listeners.lastNumber, listeners.hasEnded)
        }
        if hasEnded { listener.ended() }
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

    /// Why the link does not stand, in words; `nil` while it does, and while there is no listener.
    var refusal: String? { listeners.withLock { $0.all.isEmpty ? nil : $0.lastRefusal } }

    /// Has the server tell of every change, or only of what was read, from when another link has taken the place of
    /// this one.
    func track(reads: Bool) {
        listeners.withLock { listeners in
            listeners.tracksReads = reads
            listeners.hasNews = true
        }
        callDrivers()
    }

    /// Whether the server tells only of what was read; as it is wanted, not as it is.
    var tracksReads: Bool { listeners.withLock { $0.tracksReads } }

    /// Whether the server tells only of what was read: the link that serves the keyspaces stands, and is such a one.
    var isTracking: Bool {
        let active = listeners.withLock { $0.succession.active }
        return withMachine(active) { $0.phase == .live && $0.trackingLink != nil }
    }

    /// Whether a link serves the keyspaces.
    func isActive(_ link: Int) -> Bool { listeners.withLock { $0.succession.active == link } }

    /// The server does not remember what connections read: it has to tell of every change.
    func refuseTracking(_ text: String) {
        track(reads: false)
        trackingRefused.withLock { $0 }?()
        logger?
            .warning(
                "the server does not track what is read: it reports every change",
                metadata: ["redis.endpoint": "\(endpoint)", "error": "\(RedisError.printableCode(of: text))"]
            )
    }

    /// Sets a function to call when the server does not remember what connections read.
    func onTrackingRefused(_ action: @escaping @Sendable () -> Void) { trackingRefused.withLock { $0 = action } }

    /// Gives the link up, and makes another.
    func condemn(_ error: RedisError) {
        condemnations.withLock { $0 = [error, error] }
        callDrivers()
    }

    /// Has the link replaced by one that is made now, without a gap.
    func renew() {
        listeners.withLock { $0.succession.renew() }
        callDrivers()
    }

    /// A link that waits to be made need not wait any longer.
    func hurry() {
        for link in links { link.machine.withLock { $0.hurry(now: .now) } }
        callDrivers()
    }

    private func callDrivers() {
        news.wrappingAdd(1, ordering: .sequentiallyConsistent)
        wakeup.signal()
    }

    // MARK: For the driver

    /// The drivers of both links.
    func drivers(for thread: LoopThread) -> [any LoopDriver] {
        (0..<Self.links).map { LinkDriver(link: self, number: $0, thread: thread) }
    }

    /// Changes when there may be something to take.
    var latestNews: UInt64 { news.load(ordering: .sequentiallyConsistent) }

    func takeCondemnation(of link: Int) -> RedisError? { condemnations.withLock { $0[link].take() } }

    func withMachine<Result>(_ link: Int, _ body: (inout LinkMachine) -> Result) -> Result {
        links[link].machine.withLock { body(&$0) }
    }

    /// The topics of a link, if they have changed.
    func takeTopics(of link: Int) -> LinkTopics? {
        let (topics, joined, until) = listeners.withLock { listeners in
            var joined: [any LinkListener] = []
            let active = listeners.succession.active
            if listeners.hasNews {
                listeners.hasNews = false
                listeners.succession.want(listeners.topics)
                // The link serves their keyspace already.
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
        let all = listeners.withLock { listeners in
            listeners.hasEnded = true
            return listeners.all
        }
        for entry in all { entry.listener.ended() }
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
                for entry in all where entry.listener.hearsLeases && key.starts(with: entry.keyspace.leases) {
                    entry.listener.changed(key)
                }
                for entry in all where key.starts(with: entry.keyspace.tags) {
                    if let part = entry.keyspace.part(ofMarks: key) { entry.listener.marksChanged(part) }
                }
            }
        case .everythingChanged:
            for entry in listeners.withLock({ $0.all }) { entry.listener.everythingChanged() }
        case .event(let channel, let message):
            // Of a keyspace of this name in another database: its numbers would void everything here.
            guard !TagEvent.isMeant(by: message) || TagEvent.database(of: message) == database else { return }
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
        let (trusting, isSucceeded, anew) = listeners.withLock { listeners in
            let trusting = listeners.all.filter { $0.link == link }
            let wasToldAll = !listeners.succession.tracksReads(link)
            let isSucceeded = listeners.succession.trusted(link, until: until, told: told)
            guard isSucceeded else { return (trusting, false, nil as MonotonicInstant?) }
            listeners.moveToActive()
            let active = listeners.succession.active
            // What was read before the connections were tracked is in no table of the server.
            let isAnew = wasToldAll && listeners.succession.tracksReads(active)
            return (trusting, true, isAnew ? listeners.succession.trust[active] : nil)
        }
        for entry in trusting {
            entry.listener.linkTrusted(until: until, told: told)
            if let anew { entry.listener.linkEstablished(trustedUntil: anew) }
        }
        return isSucceeded
    }

    private func lost(_ link: Int, _ error: RedisError) {
        let (left, joined, until, isNews) = listeners.withLock { listeners in
            let isNews = listeners.succession.isWanted(link)
            // A link that is given up is no failure for a caller that waits for another.
            let left = listeners.all.filter { $0.link == link || isNews && $0.link == nil }
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

    /// Logs once when the link stands or is lost; a refusal names the command.
    private func noteState(_ error: RedisError?) {
        let text = error.map { "\($0.code): \($0.message)" }
        let isNews = listeners.withLock { listeners in
            listeners.lastRefusal = text
            guard let error else { return !exchange(&listeners.toldOf, with: []).isEmpty }
            // Which command was refused tells refusals apart.
            return listeners.toldOf.insert(error.code == .server ? "\(error.code): \(error.message)" : error.kind)
                .inserted
        }
        // The application has ended the client and needs no line about it.
        guard isNews, error?.code != .shutDown, let logger else { return }
        let metadata: Logger.Metadata = ["redis.endpoint": "\(endpoint)"]
        guard let error, let text else {
            return logger.info("changes made by others are reported", metadata: metadata)
        }
        // A missing permission does not come by itself, so an operator must see this.
        let level: Logger.Level = error.code == .server || error.isOfConfiguration ? .warning : .info
        logger.log(
            level: level,
            "changes made by others are not reported: memory is kept for a short time only",
            metadata: metadata.merging(["error": "\(text)"]) { $1 }
        )
    }
}
