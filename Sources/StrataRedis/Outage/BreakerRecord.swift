internal import Strata
internal import Synchronization

/// What becomes of the breakers and the calls of a client: told, and counted.
///
/// The nodes of a cluster share one. So counters do not fall when a node leaves, and observers of the client hear of
/// all nodes; replicas have records of their own.
final class BreakerRecord: Sendable {
    /// What the breakers of one role have done.
    final class Counts: Sendable {
        let openings = Atomic<Int>(0)
        let refusals = Atomic<Int>(0)
    }

    let events: EventHub
    /// Hears how long each call took.
    let durations = WorkDurations()
    private let counts = RedisRole.allCases.map { _ in Counts() }

    init(events: EventHub = EventHub()) { self.events = events }

    func counts(of role: RedisRole) -> Counts { counts[role.place] }
}

extension RedisRole {
    /// Its place among all of them.
    var place: Int {
        switch self {
        case .read: 0
        case .write: 1
        case .remove: 2
        case .lease: 3
        }
    }
}
