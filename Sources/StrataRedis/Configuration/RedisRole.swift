/// The kinds of calls that a cache makes to Redis, each of which can fail without the others.
///
/// A server that is out of memory refuses to store and still removes; a replica reads and does not write. So each role
/// has a breaker of its own. The invalidation link has its own state: see ``OutageStatistics/untrustedReason``.
public enum RedisRole: String, Sendable, Hashable, CaseIterable {
    /// Looking values up, and the server's clock.
    case read
    /// Storing values.
    case write
    /// Removing values.
    case remove
    /// Agreeing on which instance fetches.
    case lease
}
