/// What a cache asks of Redis, by what can fail apart from the rest.
///
/// A server without memory refuses to store and still removes; a replica reads and does not write. So each role has a
/// breaker of its own. The invalidation link has its own state: see ``OutageStatistics/untrustedReason``.
public enum RedisRole: String, Sendable, Hashable, CaseIterable {
    /// Looking values up, and the server's clock.
    case read
    /// Storing values.
    case write
    /// Removing values.
    case remove
    /// Agreeing on who fetches.
    case lease
}
