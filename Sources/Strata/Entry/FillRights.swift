/// The rights of one read to fill levels that other instances change as well, each taken before the read asks below.
///
/// A value that a read has found below may be older than what another instance has written since. So a shared level is
/// first asked for the right to fill it, by a request that bears ``ReadRequest/rights``: the level reads nothing, and
/// adds the right that it gives. The entry that fills it then bears the same rights, and the level stores it only if
/// its own right still holds. A right that is not used ends with the last entry that bears it.
@usableFromInline
package final class FillRights: Sendable, Equatable {
    private struct State: Sendable {
        var rights: [ObjectIdentifier: [[UInt8]: any FillRight]] = [:]
        var taken: [ObjectIdentifier: Set<[UInt8]>] = [:]
        var holder: (any FillHolder)?
        var seen: [EntryVersion?] = []
        var tagChanges: [ObjectIdentifier: UInt64] = [:]
        var refusal: ReadTrace.Reason?
    }

    /// Whether to ask levels at all: not when they could not be read just now.
    package let isWorthAsking: Bool
    /// Whether the read leaves the levels out: they have not been asked for the key just now.
    package let isUnread: Bool
    private let state = Locked(State())

    package init(isWorthAsking: Bool = true, isUnread: Bool = false) {
        self.isWorthAsking = isWorthAsking
        self.isUnread = isUnread
    }

    /// Adds the right to fill a key of a level.
    package func add(_ right: any FillRight, of level: AnyObject, for key: [UInt8]) {
        state.withLock { $0.rights[ObjectIdentifier(level), default: [:]][key] = right }
    }

    /// The right to fill a key of a level; it is given out once.
    package func take(of level: AnyObject, for key: [UInt8]) -> (any FillRight)? {
        state.withLock { state in
            let right = state.rights[ObjectIdentifier(level)]?.removeValue(forKey: key)
            if right != nil { state.taken[ObjectIdentifier(level), default: []].insert(key) }
            return right
        }
    }

    /// The right to fill a key was given out, and nothing was stored by it.
    package func giveUp(of level: AnyObject, for key: [UInt8]) {
        state.withLock { _ = $0.taken[ObjectIdentifier(level)]?.remove(key) }
    }

    /// Whether the right to fill a key was given out: where a read has named it twice, it is filled once.
    package func isTaken(of level: AnyObject, for key: [UInt8]) -> Bool {
        state.withLock { $0.taken[ObjectIdentifier(level)]?.contains(key) ?? false }
    }

    /// Notes the holder of the right to fill a level in place of this read.
    package func stand(behind holder: any FillHolder) { state.withLock { $0.holder = holder } }

    /// The holder of the right to fill a level in place of this read; `nil` if there is none.
    package var holder: (any FillHolder)? { state.withLock { $0.holder } }

    /// Notes what a level had when it gave its right.
    package func see(_ version: EntryVersion?) { state.withLock { $0.seen.append(version) } }

    /// Whether a level had another entry than this one when it gave its right: then others have changed it since it was
    /// read.
    package func haveSeenOther(than version: EntryVersion?) -> Bool {
        state.withLock { $0.seen.contains { $0 != version } }
    }

    /// Notes how often tags were invalidated at a gate.
    func note(tagChangesAt gate: FillGate) {
        let count = gate.tagChanges
        state.withLock { $0.tagChanges[ObjectIdentifier(gate)] = count }
    }

    /// Whether a tag was invalidated at a gate since that was noted: an entry that was asked for meanwhile may bear it,
    /// and no seal that is taken now shows that.
    func areOvertaken(at gate: FillGate) -> Bool {
        let count = gate.tagChanges
        return state.withLock { state in state.tagChanges[ObjectIdentifier(gate)].map { $0 != count } ?? false }
    }

    /// A level has not stored the entry that should have filled it.
    package func refuse(because reason: ReadTrace.Reason) { state.withLock { $0.refusal = reason } }

    /// Why a level has not stored the entry that should have filled it; `nil` when it has.
    package var refusal: ReadTrace.Reason? { state.withLock { $0.refusal } }

    /// Whether both are the same rights.
    @usableFromInline
    package static func == (one: FillRights, other: FillRights) -> Bool { one === other }
}

/// The right to fill one key of one level; it ends with the last reference to it.
package protocol FillRight: AnyObject, Sendable {}

/// Another process, which has the right to fill a key and asks for it now.
package protocol FillHolder: AnyObject, Sendable {
    /// Waits until the right has ended, by being used or not.
    ///
    /// - Parameters:
    ///   - end: When to go on in any case, by the running time of the level's clock.
    ///   - pause: How long to wait where the level cannot hear of the end of the right.
    /// - Returns: Whether the level heard that the right has ended.
    /// - Throws: `CancellationError`.
    func ended(by end: MonotonicInstant, pause: Duration) async throws -> Bool
}
