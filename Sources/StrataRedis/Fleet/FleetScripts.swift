/// The script by which instances list themselves.
enum FleetScripts {
    /// Lists an instance until it has been silent for a while.
    ///
    /// KEYS: the index, the record's name. ARGV: the instance; how many ms it is listed; where the look for instances
    /// that are gone goes on; the record.
    ///
    /// The index has the instant until which each instance is listed, in ms of the server's clock. Each call looks at a
    /// few fields and removes those that have passed or make no sense, so an index that others have filled shrinks
    /// again. Above 4096 instances no other is listed.
    ///
    /// Answers {where the look goes on, whether the instance is listed}.
    static let register = RedisScript(
        name: "register",
        digest: "cd6c5c9756e0709015ba24169caacebff3d0fb9c",
        source: """
            local t = redis.call('TIME')
            local now = t[1] * 1000 + math.floor(t[2] / 1000)
            local life = tonumber(ARGV[2])
            local step = redis.call('HSCAN', KEYS[1], ARGV[3], 'COUNT', 64)
            for i = 1, #step[2], 2 do
              local text = step[2][i + 1]
              local ends = string.find(text, '^%d+$') and #text <= 15 and tonumber(text) or 0
              if ends <= now or ends > now + 3600000 then redis.call('HDEL', KEYS[1], step[2][i]) end
            end
            if redis.call('HLEN', KEYS[1]) >= 4096 and not redis.call('HMGET', KEYS[1], ARGV[1])[1] then
              return {step[1], 0}
            end
            redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now + life))
            if redis.call('PTTL', KEYS[1]) < life then redis.call('PEXPIRE', KEYS[1], life) end
            redis.call('SET', KEYS[2], ARGV[4], 'PX', life)
            return {step[1], 1}
            """
    )

    static let all = [register]
}
