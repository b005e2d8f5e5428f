internal import Strata

/// What an instance has heard lately of changes in its keyspace: it explains why memory holds what it holds.
///
/// The last changes of keys, 48 KiB of them, and the last of each other kind. It is fed on the I/O thread, only where a
/// ``FleetMember`` runs.
struct ChangeTrail: Sendable {
    private struct Step: Sendable {
        let name: UInt64
        let at: MonotonicInstant
    }

    static let capacity = 2048
    /// How many changes of a key are told.
    static let mostChanges = 4

    private var steps: [Step] = []
    private var place = 0
    /// From when on no change of a key is forgotten.
    private(set) var begin: MonotonicInstant
    private(set) var listening: MonotonicInstant?
    private(set) var untrusted: MonotonicInstant?
    private(set) var tags: MonotonicInstant?
    private(set) var everything: MonotonicInstant?

    init(at now: MonotonicInstant) { begin = now }

    mutating func note(_ change: KeyspaceChange, at now: MonotonicInstant) {
        switch change {
        case .changed(let name):
            let step = Step(name: XXH64.hash(name.bytes), at: now)
            if steps.count < Self.capacity {
                steps.append(step)
            } else {
                begin = steps[place].at
                steps[place] = step
            }
            place = (place + 1) % Self.capacity
        case .listening: listening = now
        case .untrusted: untrusted = now
        case .tagsChanged: tags = now
        case .everythingChanged: everything = now
        }
    }

    /// How many milliseconds ago changes of a key were heard, the latest first.
    ///
    /// O(capacity).
    func changes(of name: RedisKey, at now: MonotonicInstant) -> [Int] {
        let fingerprint = XXH64.hash(name.bytes)
        let found = steps.filter { $0.name == fingerprint }.map { Int($0.at.nanoseconds(to: now) / 1_000_000) }
        return Array(found.sorted().prefix(Self.mostChanges))
    }
}
