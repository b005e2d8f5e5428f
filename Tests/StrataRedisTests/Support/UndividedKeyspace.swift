@testable import StrataRedis

// What there is one of where the keyspace has no parts.

extension KeyspaceCoherence {
    var tags: KeyspaceTags { tags(of: nil) }
}

extension RedisLevel {
    var serverClock: ServerClock { clocks.clock(for: "") }
}
