internal import Strata

/// Hears of changes in a keyspace for a monitor.
final class ChangeFollower: LinkListener, PartListener {
    private let keyspace: Keyspace
    private let isCluster: Bool
    private let schedule: Locked<ConsistencySchedule>
    private let standing = Locked<Set<KeyspacePart?>>([])

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

    func changed(_ name: [UInt8]) {
        guard name.starts(with: keyspace.values) else { return }
        schedule.withLock { schedule in
            schedule.changed(part(of: name), at: .now) { InspectedKey(name: RedisKey(name), in: keyspace) }
        }
    }

    func event(_ message: [UInt8], _ part: KeyspacePart?) {
        if TagEvent.isMeant(by: message) {
            guard isCluster == (part != nil), let event = TagEvent(message) else { return }
            return schedule.withLock { schedule in
                switch event.scope {
                case .everything: schedule.cleared(part, at: .now)
                case .unknownTags: schedule.invalidated(nil, at: .now)
                case .tags(let names): schedule.invalidated(names, at: .now)
                }
            }
        }
        guard message.first == KeyspaceEvent.invalidated.rawValue else { return }
        changed(Array(message.dropFirst()))
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
