internal import Strata

/// The writes of this process whose echo has not come yet.
///
/// The server tells of every change, also of one's own: it compares connections, and the link is another than the writer's.
/// An echo cannot be told from a stranger's notice, and the two may come as one when both changes fell into the same turn
/// of the server's event loop. So a notice for a key that this process has just written is neither believed nor ignored:
/// the version that lies there now is looked at, and until the answer is here the notice is held. A held notice is believed
/// as soon as the look can no longer clear it: a second notice comes, the write is refused, or another one begins.
///
/// Every notice ends in one of two ways: it is believed, or a look that was sent after it has found this process' version.
///
/// Counting echoes or ignoring them for some time would be wrong; see `Models/coherence.pml` for what then goes stale.
struct OwnWrites: Sendable {
    /// What a notice means.
    enum Verdict: Equatable {
        /// The key has changed.
        case changed
        /// It may be the echo of this version: look whether it still lies there.
        case look(EntryVersion)
    }

    private struct Write {
        let version: EntryVersion
        /// Whether a notice is held until the look is answered.
        var holdsNotice = false
    }

    /// Beyond this many, an echo is believed: that costs a read and keeps memory bounded.
    static let capacity = 4096

    private var writes: [UInt64: Write] = [:]

    var count: Int { writes.count }

    /// A write is about to be sent.
    ///
    /// - Returns: Whether a held notice is to be believed now.
    mutating func begin(_ fingerprint: UInt64, _ version: EntryVersion) -> Bool {
        let before = writes.removeValue(forKey: fingerprint)
        if writes.count < Self.capacity { writes[fingerprint] = Write(version: version) }
        return before?.holdsNotice == true
    }

    /// The write has failed, or was refused.
    ///
    /// - Returns: Whether a held notice is to be believed now.
    mutating func abandon(_ fingerprint: UInt64, _ version: EntryVersion) -> Bool {
        guard let write = writes[fingerprint], write.version == version else { return false }
        writes[fingerprint] = nil
        return write.holdsNotice
    }

    /// The server has told of a change.
    mutating func notice(_ fingerprint: UInt64) -> Verdict {
        guard let write = writes[fingerprint], !write.holdsNotice else {
            writes[fingerprint] = nil
            return .changed
        }
        writes[fingerprint]?.holdsNotice = true
        return .look(write.version)
    }

    /// A change was learned of in another way, and is believed.
    mutating func believe(_ fingerprint: UInt64) {
        writes[fingerprint] = nil
    }

    /// A look was answered.
    ///
    /// - Parameters:
    ///   - fingerprint: The key's.
    ///   - version: The write's for which the look was sent.
    ///   - found: The version that lies there; `nil` for none, or when the look has failed.
    /// - Returns: Whether the held notice is to be believed. Where it has been believed already, false.
    mutating func looked(_ fingerprint: UInt64, for version: EntryVersion, found: EntryVersion?) -> Bool {
        guard let write = writes[fingerprint], write.version == version, write.holdsNotice else { return false }
        writes[fingerprint] = nil
        return found != version
    }

    /// Everything counts as changed, or nothing is told any more.
    ///
    /// - Parameter isMeant: Whether that is so for a key.
    mutating func removeAll(where isMeant: (UInt64) -> Bool = { _ in true }) {
        writes = writes.filter { !isMeant($0.key) }
    }
}
