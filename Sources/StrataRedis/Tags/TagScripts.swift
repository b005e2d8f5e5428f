/// The scripts that count a keyspace's invalidations, and those of the sweep.
///
/// The numbers are in one hash of the keyspace: field `s` is the sequence, `c` the clear mark, each tag has its number under its
/// ``TagName``. One key, so that nothing of it can be lost without all of it being lost, and any slot of a cluster will do.
enum TagScripts {
    /// Takes the next number, or looks at the last one.
    ///
    /// ARGV: the highest number that the caller has heard of; the keyspace's channel; `t` to invalidate tags, `c` to clear,
    /// `l` to look; how the tags are told; then the tags' fields.
    ///
    /// The next number is the last one and one, or the server's time in microseconds if that is more: so numbers go on rising
    /// when the hash was lost. If it was, or is older than what the caller has heard of (the server was restored from a
    /// copy), everything that lies in the keyspace may be older than an invalidation that was lost, and is cleared.
    ///
    /// The HDEL removes nothing: behind a write of its own a script is let past the memory limit, and an invalidation must
    /// not fail because there is no room for values.
    ///
    /// Answers {sequence, clear mark}.
    static let advance = RedisScript(
        name: "advance",
        digest: "ccb3eb14774184533b70bcf8a56fdb3daa68cf3a",
        source: """
            local known = tonumber(ARGV[1])
            local kind = ARGV[3]
            local v = redis.call('HMGET', KEYS[1], 's', 'c')
            local s, c = tonumber(v[1] or ''), tonumber(v[2] or '')
            local whole = s and c and c >= 0 and c <= s and s >= known and s < 8000000000000000
            if whole and kind == 'l' then return {s, c} end
            local t = redis.call('TIME')
            local before = whole and s or 0
            s = math.max(t[1] * 1000000 + t[2], before + 1, known + 1)
            if not whole then kind = 'c' end
            if kind == 'c' then c = s end
            local number = string.format('%.0f', s)
            redis.call('HDEL', KEYS[1], '')
            redis.call('HSET', KEYS[1], 's', number, 'c', string.format('%.0f', c))
            for i = 5, #ARGV do redis.call('HSET', KEYS[1], ARGV[i], number) end
            redis.call('PUBLISH', ARGV[2], kind .. string.format('%.0f', before) .. ':' .. number .. ':' .. ARGV[4])
            return {s, c}
            """
    )

    /// Removes a value unless another has taken its place, and tells whether it did.
    ///
    /// KEYS: the value's name. ARGV: the version stamp of what is to be removed.
    static let removeVersion = RedisScript(
        name: "remove-version",
        digest: "20ba46def84ba74c6b7d6a4b88de1fafc0502883",
        source: """
            if redis.call('GETRANGE', KEYS[1], 20, 35) ~= ARGV[1] then return 0 end
            return redis.call('UNLINK', KEYS[1])
            """
    )

    /// Removes tags' numbers unless they have been invalidated again.
    ///
    /// KEYS: the hash. ARGV: each tag's field and the number that it had. Answers how many were removed.
    static let forgetTags = RedisScript(
        name: "forget-tags",
        digest: "5a2461938d669f157324ae6021530b7adf2fee34",
        source: """
            local n = 0
            for i = 1, #ARGV, 2 do
              if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then n = n + redis.call('HDEL', KEYS[1], ARGV[i]) end
            end
            return n
            """
    )

    static let all = [advance, removeVersion, forgetTags]
}
