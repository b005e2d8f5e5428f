/// The identity of an entry that is fetched anew; the entry that takes its place has another.
struct RefreshedEntry<Key: Hashable & Sendable>: Hashable, Sendable {
    let key: Key
    let version: EntryVersion
    /// Tells apart entries without a version, such as those of a source with no Redis above it.
    let freshUntil: MonotonicInstant

    init(_ key: Key, _ entry: Entry<some Sendable>) {
        self.key = key
        version = entry.version
        freshUntil = entry.version == .none ? entry.freshUntil : .distantPast
    }
}
