internal import Strata

/// The writes of this process whose echo has not come yet.
///
/// The server tells of every change, also of one's own: it compares connections, and the link is another than the writer's.
/// An echo cannot be told from a stranger's notice, and the two may come as one when both changes fell into the same turn
/// of the server's event loop. So a notice for a key that this process has just written is neither believed nor ignored:
/// the version that lies there now is looked at. A second notice while the look is under way is believed.
///
/// Counting echoes or ignoring them for some time would be wrong; see `models/` for what then goes stale.
struct OwnWrites: Sendable {
    /// What a notice means.
    enum Verdict: Equatable {
        /// The key has changed.
        case changed
        /// It may be the echo of this version: look whether it still lies there.
        case look(EntryVersion)
    }

    /// What a look has found out.
    enum Finding {
        /// The key has changed.
        case changed
        /// The own write still lies there; what is left to be taken for it.
        case own(TicketRenewal?)
        /// A second notice came meanwhile, or another own write: it is decided otherwise.
        case decided
    }

    private enum State {
        case awaitsEcho
        case looking
    }

    /// Beyond this many, an echo is believed: that costs a read and keeps memory bounded.
    static let capacity = 4096

    private var writes: [UInt64: (version: EntryVersion, state: State, renewal: TicketRenewal?)] = [:]

    var count: Int { writes.count }

    /// A write is about to be sent.
    mutating func begin(_ fingerprint: UInt64, _ version: EntryVersion, _ renewal: TicketRenewal? = nil) {
        guard writes[fingerprint] != nil || writes.count < Self.capacity else { return }
        writes[fingerprint] = (version, .awaitsEcho, renewal)
    }

    /// The write has failed, or was refused.
    mutating func abandon(_ fingerprint: UInt64, _ version: EntryVersion) {
        if writes[fingerprint]?.version == version { writes[fingerprint] = nil }
    }

    /// The server has told of a change.
    mutating func notice(_ fingerprint: UInt64) -> Verdict {
        guard let write = writes[fingerprint] else { return .changed }
        switch write.state {
        case .awaitsEcho:
            writes[fingerprint]?.state = .looking
            return .look(write.version)
        case .looking:
            writes[fingerprint] = nil
            return .changed
        }
    }

    /// A change was learned of in another way, and is believed.
    mutating func believe(_ fingerprint: UInt64) {
        writes[fingerprint] = nil
    }

    /// What the look has found; `nil` when it has failed.
    mutating func looked(_ fingerprint: UInt64, for version: EntryVersion, found: EntryVersion?) -> Finding {
        // Gone from the table: a second notice came, which was believed already.
        guard let write = writes[fingerprint], write.version == version, write.state == .looking else {
            return .decided
        }
        writes[fingerprint] = nil
        return found == version ? .own(write.renewal) : .changed
    }

    /// Nothing is told any more, so no echo will come.
    mutating func removeAll() {
        writes.removeAll()
    }
}
