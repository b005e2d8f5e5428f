/// What the engine asks of a level beyond ``CacheLevel``: answers without suspending, and coherence with changes made elsewhere.
///
/// Everything here has a default that is right for a plain level. Implement it for a level that can answer from this process's
/// memory, that can be joined while it reads, or that hears of changes.
///
/// ## Levels that hear of changes made elsewhere
///
/// Such a level has a ``gate`` and keeps to four rules; a level without one need not know of them.
///
/// 1. When the entry of a key may have changed, the gate voids the key's ``fingerprint(of:)`` before anybody is told that the
///    change is done. That goes for removals through the level, too, and for writes that have failed half-way.
/// 2. An entry that is returned bears a ticket of this gate, taken before it was looked up; or ``Ticket/none``, and whoever
///    asked goes by a ticket taken before asking; or ``Ticket/void``, and it is not kept above.
/// 3. ``commit(_:for:)`` returns a ticket of this gate that the level's own write has not voided.
/// 4. Tickets of entries that are stored are none of the level's business, unless it says that it ``keepsTickets``.
public protocol CoherentLevel<Key, Value>: Sendable {
    /// What entries are found by.
    associatedtype Key: Hashable & Sendable
    /// What is kept.
    associatedtype Value: Sendable

    /// What the level can tell of a key without suspending: a fresh value in this process's memory, or `nil`.
    ///
    /// This is the hot path. It takes no lock that all readers share, and does not allocate.
    func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>?

    /// The same, for a read that goes on when there is nothing: conditions on the way take their answers down and are not asked
    /// again.
    ///
    /// A level that hands the question on to another one hands the answers on with it.
    func resident(_ key: Key, at now: MonotonicInstant, _ answers: inout ConditionAnswers) -> Resident<Value>?

    /// Waits for a read of this key that is under way in this process, if there is one that an ordinary read may join.
    ///
    /// The short way for the many who miss the same key at once. A level that has something to say of the key itself, or
    /// keeps nothing under way, does not know of such a read; whoever is told so asks for the entry.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - isSought: Asked when there is such a read, before it is joined: whether the levels above have nothing of the key.
    /// - Returns: What the read has brought; `nil` when there is none to be joined.
    /// - Throws: As ``CacheLevel/entry(for:_:)``.
    func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>?

    /// What is certain without suspending: that the level has nothing of a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - isRead: Whether this is a read, and counted as a miss if so.
    /// - Returns: True when there is nothing, not even something stale; false when there is something, or it is not certain.
    func lacks(_ key: Key, isRead: Bool) -> Bool

    /// The gate that voids what levels above keep, if this level has one: it does when it hears of changes made elsewhere.
    var gate: FillGate? { get }

    /// The number by which ``gate`` knows a key. The same key always has the same number.
    func fingerprint(of key: Key) -> UInt64

    /// Whether entries come back with the ticket they were stored with, each stored in one step with its ticket.
    ///
    /// The same goes for their seals.
    var keepsTickets: Bool { get }

    /// Keeps an entry that a user has set, and tells what ticket levels above may keep it with.
    ///
    /// - Returns: ``Ticket/void`` when another change came in between; `nil` when the level has no gate.
    func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket?
}
