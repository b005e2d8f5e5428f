internal import Strata

/// Hears of changes in a keyspace for a monitor.
final class ChangeFollower: LinkListener, PartListener {
    private let keyspace: Keyspace
    private let isCluster: Bool
    private let schedule: Locked<ConsistencySchedule>
    private let standing = Locked<Set<KeyspacePart?>>([])
    /// Copies of a message that come later, over the links of other nodes, say nothing of when the change was made.
    private let recent = Locked(RecentMessages(within: .seconds(60), upTo: 4096))

    init(_ redis: RedisClient, _ keyspace: Keyspace, _ schedule: ConsistencySchedule) {
        isCluster = redis.isCluster
        self.keyspace = keyspace
        self.schedule = Locked(schedule)
    }

    func withSchedule<Result: Sendable>(_ body: (inout ConsistencySchedule) -> Result) -> Result {
        schedule.withLock { body(&$0) }
    }

    /// Whether changes of any part are told.
    var isListening: Bool { standing.withLock { !$0.isEmpty } }

    /// Nothing is told to it any more.
    func end() { standing.withLock { $0.removeAll() } }

    private func part(of name: [UInt8]) -> KeyspacePart? { isCluster ? KeyspacePart(ofName: name) : nil }

    var isDivided: Bool { isCluster }

    var hearsEverything: Bool { true }

    func changed(_ name: [UInt8]) { changed(name, isFirst: true) }

    private func changed(_ name: [UInt8], isFirst: Bool) {
        guard name.starts(with: keyspace.values) else { return }
        let key = RedisKey(name)
        schedule.withLock { schedule in
            schedule.changed(key, part(of: name), isFirst: isFirst, at: .now) { InspectedKey(name: key, in: keyspace) }
        }
    }

    /// Whether a message is no copy of one that was heard before, and whether that is certain.
    private func hear(_ message: [UInt8], _ part: KeyspacePart?, _ pause: Duration?) -> (isNews: Bool, isFirst: Bool) {
        guard isCluster else { return (true, true) }
        return recent.withLock { $0.hear(message, part, at: .coarse, unlessRepeatedAfter: pause) }
    }

    func event(_ message: [UInt8], _ part: KeyspacePart?) {
        if TagEvent.isMeant(by: message) {
            guard isCluster == (part != nil), let event = TagEvent(message) else { return }
            let (isNews, isFirst) = hear(message, part, nil)
            guard isNews else { return }
            return schedule.withLock { schedule in
                switch event.scope {
                case .everything: schedule.cleared(part, isFirst: isFirst, at: .now)
                case .unknownTags: schedule.invalidated(nil, part, at: .now)
                case .tags(let names): schedule.invalidated(names, part, at: .now)
                }
            }
        }
        guard message.first == KeyspaceEvent.invalidated.rawValue else { return }
        // It has no number: the same key may have been removed again.
        let (isNews, isFirst) = hear(message, nil, .seconds(2))
        if isNews { changed(Array(message.dropFirst()), isFirst: isFirst) }
    }

    func marksChanged(_ part: KeyspacePart?) {}

    func everythingChanged(_ part: KeyspacePart?) { schedule.withLock { $0.cleared(part, at: .now) } }

    func established(_ part: KeyspacePart?, trustedUntil: MonotonicInstant) {
        _ = standing.withLock { $0.insert(part) }
    }

    func trusted(_ part: KeyspacePart?, until: MonotonicInstant, told: MonotonicInstant) {
        schedule.withLock { $0.trusted(part, told: told) }
    }

    func lost(_ part: KeyspacePart?) {
        _ = standing.withLock { $0.remove(part) }
        schedule.withLock { $0.lost() }
    }

    func linkEstablished(trustedUntil: MonotonicInstant) { established(nil, trustedUntil: trustedUntil) }

    func linkTrusted(until: MonotonicInstant, told: MonotonicInstant) { trusted(nil, until: until, told: told) }

    func linkLost() { lost(nil) }

    func everythingChanged() { everythingChanged(nil) }
}
