/// An entry that is fetched anew; what takes its place is another.
struct RefreshedEntry<Key: Hashable & Sendable>: Hashable, Sendable {
    let key: Key
    let version: EntryVersion
    /// Tells entries apart that have no version, as a source's above which there is no Redis.
    let freshUntil: MonotonicInstant

    init(_ key: Key, _ entry: Entry<some Sendable>) {
        self.key = key
        version = entry.version
        freshUntil = entry.version == .none ? entry.freshUntil : .distantPast
    }
}
