/// What the engine asks of a level beyond ``CacheLevel``: answers without suspending, and coherence with changes made
/// elsewhere.
///
/// Every requirement has a default that is right for a plain level. Implement some for a level that answers from this
/// process's memory, lets callers join its reads, or hears of changes.
///
/// ## Levels that hear of changes made elsewhere
///
/// Such a level has a ``gate`` and keeps four rules.
///
/// 1. When the entry of a key may have changed, the gate voids the key's ``fingerprint(of:)`` before the level reports
///    the change as done. This includes removals through the level and writes that failed half-way.
/// 2. An entry that the level returns bears one of three tickets: a ticket of this gate, taken before the lookup;
///    ``Ticket/none``, and then a ticket counts that the caller took before asking; or ``Ticket/void``, and then no
///    level above keeps the entry.
/// 3. ``commit(_:for:)`` returns a ticket of this gate that the level's own write has not voided.
/// 4. The level ignores the tickets of entries that it stores, unless it ``keepsTickets``.
public protocol CoherentLevel<Key, Value>: Sendable {
    /// What entries are found by.
    associatedtype Key: Hashable & Sendable
    /// What is kept.
    associatedtype Value: Sendable

    /// A fresh value in this process's memory; `nil` when there is none, or the level would have to suspend.
    ///
    /// This is the hot path. It takes no lock that all readers share, and does not allocate.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - now: The present by the system's clock; see ``clock``.
    /// - Returns: The value.
    func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>?

    /// The same, for a read that goes on when there is no value.
    ///
    /// A condition on the way notes its answer, so that the rest of the read does not ask it again. A level that
    /// forwards the question forwards the answers, too.
    func resident(_ key: Key, at now: MonotonicInstant, _ answers: inout ConditionAnswers) -> Resident<Value>?

    /// Waits for a read of this key that is running in this process, if an ordinary read may join it.
    ///
    /// This is a short way for many callers that miss the same key at once. A level that decides something about the
    /// key itself, or runs no shared reads, returns `nil`; the caller then asks for the entry.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - isSought: Called before joining; whether the levels above have no entry of the key.
    /// - Returns: The result of the read; `nil` when there is none to join.
    /// - Throws: As ``CacheLevel/entry(for:_:)``.
    func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>?

    /// Whether the level certainly has no entry of a key, without suspending.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - isRead: Whether to count this as a miss.
    /// - Returns: True when there is nothing, not even a stale entry; false when there is something, or it is not
    ///   certain.
    func lacks(_ key: Key, isRead: Bool) -> Bool

    /// The gate that voids what levels above keep; `nil` for a level that does not hear of changes made elsewhere.
    var gate: FillGate? { get }

    /// The number by which ``gate`` knows a key. The same key always has the same number.
    func fingerprint(of key: Key) -> UInt64

    /// Whether the level fetches with the sources of calls and has none of its own; see ``SourcedLevel``.
    ///
    /// A read without a source then finds what levels hold, as one with ``ReadOptions/cached``. A level around another
    /// one says what that one says.
    var lacksSource: Bool { get }

    /// The policy by which the level dates entries that bear no lifetime; `nil` for a level that leaves them without
    /// one.
    ///
    /// A level above dates what it keeps of such an entry by the same policy. A level around another one says what that
    /// one says.
    var policy: FreshnessPolicy? { get }

    /// Whether the level only keeps what it is given: a read that leaves it out has nothing to find there.
    ///
    /// A level around another one says what that one says.
    var isStorage: Bool { get }

    /// The names by which the level knows tags: the same, unless it puts something before them.
    ///
    /// A level above knows tags by these, too. A level around another one says what that one says.
    func stored(tags: [String]) -> [String]

    /// Tags that each entry of the level bears besides its own; none for most.
    var commonTags: [String] { get }

    /// The clock by which the level judges lifetimes; `nil` for a level that judges none.
    ///
    /// A level takes ``CacheClock/current`` when it is made. A level around another one says what that one says.
    var clock: CacheClock? { get }

    /// Whether the level returns each entry with the ticket and the seal it was stored with.
    ///
    /// It stores an entry and its ticket in one step.
    var keepsTickets: Bool { get }

    /// Whether a set goes to a source of truth here, which may refuse it: then levels above must not keep the value.
    var writesSource: Bool { get }

    /// Keeps an entry that a user has set, and returns the ticket with which levels above may keep it.
    ///
    /// - Returns: ``Ticket/void`` when another change came in between; `nil` when the level has no gate.
    func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket?
}
