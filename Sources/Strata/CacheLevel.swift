/// Anything that can be asked for a key, and told to keep, drop or forget: memory, Redis, a disk, a composition of those.
///
/// Levels speak in ``Entry``; users speak in values, through `get(_:)`, ``set(_:for:)``, ``remove(_:)`` and ``clear()``,
/// which every level has. A miss is `nil`; a thrown error is a real failure.
///
/// Four methods make a level. The others have default implementations, for levels that can do better: answer without
/// suspending, answer many keys at once, or hear of changes made elsewhere.
///
/// `StrataTesting` has a suite, `CacheLevelConformance`, that any level can be run against.
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
public protocol CacheLevel<Key, Value>: Sendable, CustomStringConvertible {
    /// What entries are found by.
    associatedtype Key: Hashable & Sendable
    /// What is kept.
    associatedtype Value: Sendable

    /// The entry of a key; `nil` when the level knows nothing of it.
    ///
    /// The entry may be stale: whoever asks looks at its lifetime.
    func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>?

    /// Keeps an entry, in place of any other of that key.
    func store(_ entry: Entry<Value>, for key: Key) async throws

    /// Forgets a key. A key that is not there is no error.
    func remove(_ key: Key) async throws

    /// Forgets all keys of this level, and nothing that belongs to others.
    func removeAll() async throws

    /// Forgets every entry that bears one of these tags.
    ///
    /// An entry that is on its way up from before the call is not kept. A level that cannot tell which entries bear a tag
    /// forgets all of them.
    func invalidate(tags: [String]) async throws

    /// Gives back memory of this process. Never fails, never waits.
    func relieve(_ pressure: MemoryPressure)

    /// The entries of several keys, in the order of the keys.
    ///
    /// Throws when one of them fails, unless the request leaves out failures.
    func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?]

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
    /// - Throws: As ``entry(for:_:)``.
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

    /// By what name reads can leave the level out; `nil` when they cannot.
    var origin: EntryOrigin? { get }

    /// Waits for work that goes on in the background, for at most `limit`, and cancels what is left of it then.
    ///
    /// To be called at the end of an application's life.
    func drain(within limit: Duration) async

    /// How the level shows up in descriptions and receipts.
    var label: LevelLabel { get }
}
