// The sample of docs/recipes.md about sessions; `.ci/snippets` compares the two.

import Strata
import StrataRedis

struct Session: Codable, Sendable {
    var user: Int
}

/// Stands for a hash of your own choice.
func sha256(_ text: String) -> String { text }

func sessions(redis: RedisClient, token: String) async throws {
    // snippet.recipe-sessions
    let policy = FreshnessPolicy(freshFor: .seconds(3_600), jitter: 0, earlyRefresh: 0)
    let sessions = MemoryLevel<String, Session>(limit: .entries(50_000))
        .compose(RedisLevel(redis, keyspace: "sessions", freshness: policy))

    let key = sha256(token)  // names of keys can be seen in Redis
    try await sessions.set(Session(user: 7), for: key)
    let session = try await sessions.get(key)
    try await sessions.remove(key)  // logged out, in every instance
    // snippet.end
    _ = session
}
