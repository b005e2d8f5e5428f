internal import Strata

/// Somebody who has to know of changes that others make.
///
/// All calls come on the I/O thread, one after the other.
protocol LinkListener: AnyObject, Sendable {
    /// From now on changes are told; what was read until now may have changed unheard.
    func linkEstablished(trustedUntil: MonotonicInstant)

    /// What is known now may be relied on until then: everything that was changed before `told` has been told.
    func linkTrusted(until: MonotonicInstant, told: MonotonicInstant)

    /// Changes are no longer told.
    func linkLost()

    /// The value under this name has changed or is gone.
    func changed(_ name: [UInt8])

    /// The hash of the numbers of invalidations, of all or of a part, has changed or is gone.
    func marksChanged(_ part: KeyspacePart?)

    /// The database was flushed.
    func everythingChanged()

    /// Another instance has said something over the keyspace's channel, or a part's.
    func event(_ message: [UInt8], _ part: KeyspacePart?)

    /// Whether the keyspace has parts.
    var isDivided: Bool { get }
}
