/// One level of a cache: memory, Redis, a disk, a source, or a composition of these.
///
/// Levels exchange values of ``Entry``. Users work with plain values, through `get(_:)`, ``set(_:for:)``,
/// ``remove(_:)`` and ``clear()``, which every level has. A miss is `nil`; a thrown error is a failure.
///
/// Four methods make a level: ``entry(for:_:)``, ``store(_:for:)``, ``remove(_:)`` and ``removeAll()``. The other
/// requirements have default implementations. A level that answers without suspending, or hears of changes made
/// elsewhere, also implements parts of ``CoherentLevel``.
///
/// `StrataTesting` has a suite, `CacheLevelConformance`, that tests any level.
public protocol CacheLevel<Key, Value>: CoherentLevel, CustomStringConvertible {
    // Declared again, so that both are inferred from the methods below.
    /// What entries are found by.
    associatedtype Key
    /// What is kept.
    associatedtype Value

    /// The entry of a key; `nil` when the level has none.
    ///
    /// The entry may be stale: the caller checks its lifetime.
    func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>?

    /// Keeps an entry, in the place of an older one of that key.
    func store(_ entry: Entry<Value>, for key: Key) async throws

    /// Forgets a key. A key that is not there is no error.
    func remove(_ key: Key) async throws

    /// Forgets all keys of this level, and nothing that belongs to other levels.
    func removeAll() async throws

    /// Forgets every entry that bears one of these tags.
    ///
    /// Levels above do not keep an entry that was read before the call. A level that cannot tell which entries bear a
    /// tag forgets all of them.
    func invalidate(tags: [String]) async throws

    /// Gives memory of this process back. Never fails and never waits.
    func relieve(_ pressure: MemoryPressure)

    /// The entries of several keys, in the order of the keys.
    ///
    /// Throws when one of them fails, unless the request leaves out failures.
    func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?]

    /// The name by which a read can leave the level out; `nil` when it cannot.
    var origin: EntryOrigin? { get }

    /// Waits for background work, for at most `limit`, then cancels the rest.
    ///
    /// Call it at the end of the application's life.
    func drain(within limit: Duration) async

    /// The level's name, limits and counters, for descriptions and read traces.
    var label: LevelLabel { get }
}
