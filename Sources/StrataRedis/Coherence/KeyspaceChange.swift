/// What an instance hears of changes in a keyspace.
public enum KeyspaceChange: Sendable, Hashable {
    /// Changes are told from now on; what was read before may have changed unheard, and memory has let go of it.
    case listening
    /// Changes are no longer told; memory is not relied on until they are.
    case untrusted
    /// The value under this name has changed or is gone.
    case changed(RedisKey)
    /// Tags were invalidated; entries that bear them are void.
    case tagsChanged
    /// Everything may have changed.
    case everythingChanged
}
