internal import Strata

/// Has to know of changes in the parts of a keyspace; the part is `nil` if there is only one.
///
/// Calls about trust come one after the other, in order. Calls about changes may come on several threads.
protocol PartListener: ChangeListener {
    /// From now on changes are told; what was read until now may have changed unheard.
    func established(_ part: KeyspacePart?, trustedUntil: MonotonicInstant)

    /// What is known now may be relied on until then: everything that was changed before `told` has been told.
    func trusted(_ part: KeyspacePart?, until: MonotonicInstant, told: MonotonicInstant)

    /// Changes are no longer told.
    func lost(_ part: KeyspacePart?)

    /// The value under this name has changed or is gone.
    func changed(_ name: [UInt8])

    /// The hash of the numbers of invalidations has changed or is gone.
    func marksChanged(_ part: KeyspacePart?)

    /// A database was flushed in which the part has keys.
    func everythingChanged(_ part: KeyspacePart?)

    /// Another instance has said something over a channel of the keyspace.
    func event(_ message: [UInt8], _ part: KeyspacePart?)
}
