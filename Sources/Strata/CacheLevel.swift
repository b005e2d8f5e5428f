/// Anything that can be asked for a key, and told to keep, drop or forget: memory, Redis, a disk, a composition of those.
///
/// Levels speak in ``Entry``; users speak in values, through `get(_:)`, ``set(_:for:)``, ``remove(_:)`` and ``clear()``,
/// which every level has. A miss is `nil`; a thrown error is a real failure.
///
/// Four methods make a level: ``entry(for:_:)``, ``store(_:for:)``, ``remove(_:)`` and ``removeAll()``. The others have
/// default implementations, for levels that can do better. A level that answers without suspending, or hears of changes made
/// elsewhere, implements some of ``CoherentLevel`` as well; no other level need know of it.
///
/// `StrataTesting` has a suite, `CacheLevelConformance`, that any level can be run against.
public protocol CacheLevel<Key, Value>: CoherentLevel, CustomStringConvertible {
    // Said again, so that both are inferred from the methods below.
    /// What entries are found by.
    associatedtype Key
    /// What is kept.
    associatedtype Value

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

    /// By what name reads can leave the level out; `nil` when they cannot.
    var origin: EntryOrigin? { get }

    /// Waits for work that goes on in the background, for at most `limit`, and cancels what is left of it then.
    ///
    /// To be called at the end of an application's life.
    func drain(within limit: Duration) async

    /// How the level shows up in descriptions and read traces.
    var label: LevelLabel { get }
}
