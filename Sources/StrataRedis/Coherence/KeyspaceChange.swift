/// A change in a keyspace, as an instance hears of it.
public enum KeyspaceChange: Sendable, Hashable {
    /// The link stands. What was read before may have changed unnoticed, so memory drops it.
    case listening
    /// The link is lost. Memory is not trusted until it stands again.
    case untrusted
    /// The value under this name has changed or is gone.
    case changed(RedisKey)
    /// Tags were invalidated; entries that bear them are void.
    case tagsChanged
    /// Everything may have changed.
    case everythingChanged
}
