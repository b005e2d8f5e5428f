internal import Strata

/// The writes of this process whose echo has not come yet.
///
/// The server sends a notice of every change, also of this process's own: it compares connections, and the link is not
/// the connection that writes. An echo looks like the notice of another process's change, and both may come as one
/// notice when they fell into the same turn of the server's event loop. So a notice for a key that this process has
/// just written is neither believed nor ignored. The process asks for the version that is stored now, and holds the
/// notice until the answer comes. One that comes meanwhile is held, too, and looked into afterwards: where several
/// connections have read the key, each is told. A held notice is believed as soon as no answer can clear it any more:
/// the write is refused, another write begins, or too many looks were taken.
///
/// Where the server tells only of what this process has read, a write may have no echo. So one that is over is
/// forgotten when the link has told of everything from before its end.
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
        /// A look is out, and another is taken after it.
        case held
    }

    /// What the answer to a look means.
    enum Finding: Equatable {
        /// The held notices are echoes, or were believed already.
        case nothing
        /// The key has changed.
        case changed
        /// A notice has come since the look was sent: ask once more.
        case look(EntryVersion)
    }

    private struct Write {
        let version: EntryVersion
        let begun: MonotonicInstant
        /// The looks that were taken; a notice is held until the last is answered.
        var looks = 0
        /// Whether a notice has come since the last look was sent.
        var looksAgain = false

        var holdsNotice: Bool { looks > 0 }
    }

    /// Beyond this many, an echo is believed: that costs a read and keeps memory bounded.
    static let capacity = 4096
    /// After this many looks a further notice is believed: the key changes too often.
    static let mostLooks = 4

    private var writes: [UInt64: Write] = [:]

    var count: Int { writes.count }

    /// A write is about to be sent.
    ///
    /// - Returns: Whether a held notice must be believed now.
    mutating func begin(_ fingerprint: UInt64, _ version: EntryVersion, at now: MonotonicInstant = .now) -> Bool {
        let before = writes.removeValue(forKey: fingerprint)
        if writes.count < Self.capacity { writes[fingerprint] = Write(version: version, begun: now) }
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
        guard var write = writes[fingerprint], write.looks < Self.mostLooks else {
            writes[fingerprint] = nil
            return .changed
        }
        defer { writes[fingerprint] = write }
        guard write.holdsNotice else {
            write.looks = 1
            return .look(write.version)
        }
        write.looksAgain = true
        return .held
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
    /// - Returns: What becomes of the held notices.
    mutating func looked(_ fingerprint: UInt64, for version: EntryVersion, found: EntryVersion?) -> Finding {
        guard var write = writes[fingerprint], write.version == version, write.holdsNotice else { return .nothing }
        guard found == version, write.looksAgain else {
            writes[fingerprint] = nil
            return found == version ? .nothing : .changed
        }
        write.looks += 1
        write.looksAgain = false
        writes[fingerprint] = write
        return .look(version)
    }

    /// Notices have come of everything that was changed by writes that began before an instant.
    mutating func told(begunBefore instant: MonotonicInstant, where isMeant: (UInt64) -> Bool = { _ in true }) {
        guard writes.contains(where: { $0.value.begun < instant }) else { return }
        writes = writes.filter { $0.value.begun >= instant || $0.value.holdsNotice || !isMeant($0.key) }
    }

    /// Everything counts as changed, or the link is lost.
    ///
    /// - Parameter isMeant: Whether that is so for a key.
    mutating func removeAll(where isMeant: (UInt64) -> Bool = { _ in true }) {
        writes = writes.filter { !isMeant($0.key) }
    }
}
