internal import Strata

/// The writes of this process whose echo has not come yet.
///
/// The server sends a notice of every change, also of this process's own: it compares connections, and the link is not
/// the connection that writes. An echo looks like the notice of another process's change, and both may come as one
/// notice when they fell into the same turn of the server's event loop. So a notice for a key that this process has
/// just written is neither believed nor ignored. The process asks for the version that is stored now, and holds the
/// notice until the answer comes. A held notice is believed as soon as the answer can no longer clear it: a second
/// notice comes, the write is refused, or another write begins.
///
/// Every notice ends in one of two ways: it is believed, or a look that was sent after it finds this process's version.
///
/// Counting echoes, or ignoring them for some time, is wrong; see `Models/coherence.pml` for the values that become
/// stale.
struct OwnWrites: Sendable {
    /// What a notice means.
    enum Verdict: Equatable {
        /// The key has changed.
        case changed
        /// It may be the echo of this version: ask whether that is still stored.
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
    /// - Returns: Whether a held notice must be believed now.
    mutating func begin(_ fingerprint: UInt64, _ version: EntryVersion) -> Bool {
        let before = writes.removeValue(forKey: fingerprint)
        if writes.count < Self.capacity { writes[fingerprint] = Write(version: version) }
        return before?.holdsNotice == true
    }

    /// The write has failed, or was refused.
    ///
    /// - Returns: Whether a held notice must be believed now.
    mutating func abandon(_ fingerprint: UInt64, _ version: EntryVersion) -> Bool {
        guard let write = writes[fingerprint], write.version == version else { return false }
        writes[fingerprint] = nil
        return write.holdsNotice
    }

    /// The server has sent a notice.
    mutating func notice(_ fingerprint: UInt64) -> Verdict {
        guard let write = writes[fingerprint], !write.holdsNotice else {
            writes[fingerprint] = nil
            return .changed
        }
        writes[fingerprint]?.holdsNotice = true
        return .look(write.version)
    }

    /// Another message tells of a change, which is believed.
    mutating func believe(_ fingerprint: UInt64) {
        writes[fingerprint] = nil
    }

    /// The answer to a look.
    ///
    /// - Parameters:
    ///   - fingerprint: The key's fingerprint.
    ///   - version: The version of the write for which the look was sent.
    ///   - found: The stored version; `nil` for none, or when the look failed.
    /// - Returns: Whether the held notice must be believed; false when it was believed already.
    mutating func looked(_ fingerprint: UInt64, for version: EntryVersion, found: EntryVersion?) -> Bool {
        guard let write = writes[fingerprint], write.version == version, write.holdsNotice else { return false }
        writes[fingerprint] = nil
        return found != version
    }

    /// Everything counts as changed, or the link is lost.
    ///
    /// - Parameter isMeant: Whether that is so for a key.
    mutating func removeAll(where isMeant: (UInt64) -> Bool = { _ in true }) {
        writes = writes.filter { !isMeant($0.key) }
    }
}
