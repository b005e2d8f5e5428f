internal import Strata

/// A listener for changes, at a link or at several.
protocol ChangeListener: AnyObject, Sendable {
    /// Whether changes of leases are told, too; by their names, as those of values are.
    var hearsLeases: Bool { get }

    /// Whether every change has to be told, also of what this process has not read.
    var hearsEverything: Bool { get }

    /// The client has ended, with all its links: nothing is told from now on.
    func ended()
}

extension ChangeListener {
    /// False: instances wake by messages.
    var hearsLeases: Bool { false }

    /// False: only what was read can be out of date.
    var hearsEverything: Bool { false }

    func ended() {}
}

/// A listener for changes made elsewhere.
///
/// All calls come on the I/O thread, one after the other.
protocol LinkListener: ChangeListener {
    /// The link stands; what was read until now may have changed unnoticed.
    func linkEstablished(trustedUntil: MonotonicInstant)

    /// Entries are trusted until then: notices have come of everything that was changed before `told`.
    func linkTrusted(until: MonotonicInstant, told: MonotonicInstant)

    /// The link is lost.
    func linkLost()

    /// The value under this name has changed or is gone.
    func changed(_ name: [UInt8])

    /// The hash of the numbers of invalidations, of all or of a part, has changed or is gone.
    func marksChanged(_ part: KeyspacePart?)

    /// The database was flushed.
    func everythingChanged()

    /// Another instance has published a message to the keyspace's channel, or to a part's.
    func event(_ message: [UInt8], _ part: KeyspacePart?)

    /// Whether the keyspace has parts.
    var isDivided: Bool { get }
}
