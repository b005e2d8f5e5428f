/// The scripts that count a keyspace's invalidations, and those of the sweep.
///
/// The numbers are in one hash for each keyspace, so that a loss is always a loss of all, and any slot of a cluster
/// will do:
///
/// | field | holds |
/// |---|---|
/// | `s` | the sequence: the last number that was given out |
/// | `c` | the clear mark: what is older is void |
/// | `f` | the floor, if tags were forgotten: a tag without a field may have a number up to this one |
/// | `n` | how far the forgetting of tags has come |
/// | a tag's ``TagName`` | its number |
enum TagScripts {
    /// Takes the next number, or looks at the last one.
    ///
    /// ARGV: the highest number that the caller knows; the channel; `t` to invalidate tags, `c` to clear, `l` to look;
    /// how many ms the hash is kept without use; the tags in the form of a message; then the tags' fields.
    ///
    /// The next number is the last one plus one, or the server's time in microseconds if that is more: so numbers still
    /// rise after the hash was lost. When the hash is lost, is older than the caller's number (the server was restored
    /// from a copy), makes no sense, or another type stands under its name, everything in the keyspace may be older
    /// than a lost invalidation. Then the hash begins anew, and everything is cleared.
    ///
    /// A number more than a year ahead of the server's time is forged. The hash begins anew when it has one; the script
    /// ignores one from a caller, whose answer shows that by being lower. Entries with such a number are void, and no
    /// entry with tags lives until it is reached. A sequence a year behind begins anew for the same reason: the clock
    /// was wrong for a while, and entries from before must not become valid again.
    ///
    /// Above 1 024 tags each invalidation checks 64 fields, and four for each of its own, by HSCAN. It forgets tags
    /// that were last invalidated longer ago than any entry with tags lives. Above 65 536 it forgets a quarter of the
    /// tags: the floor rises to the lowest quartile of the checked fields, and the fields below it go by and by. So a
    /// hash has at most about 82 000 tags, 7 MB.
    ///
    /// The HDEL removes nothing, and is there because the server no longer checks its memory limit after a first write,
    /// as after the UNLINK. An invalidation must not fail because there is no room for values.
    ///
    /// The invalidation is in force before it is published. Where the caller may not publish it stands all the same,
    /// and the notice of the hash tells the others: an error would have it repeated, with a new number each time, which
    /// would void what was stored since.
    ///
    /// Answers {sequence, clear mark}, and after an invalidation the sequence before it.
    static let advance = RedisScript(
        name: "advance",
        digest: "f4b5d8d457f422f8a741b95974566f0e5e30b610",
        source: """
            local function number(text)
              if text and #text <= 16 and string.find(text, '^%d+$') then return tonumber(text) end
            end
            local function put(...)
              local fields = {...}
              for i = 2, #fields, 2 do fields[i] = string.format('%.0f', fields[i]) end
              redis.call('HSET', KEYS[1], unpack(fields))
            end
            local function keep()
              local life = tonumber(ARGV[4])
              if redis.call('PTTL', KEYS[1]) < life - 86400000 then redis.call('PEXPIRE', KEYS[1], life) end
            end
            local kind = ARGV[3]
            local t = redis.call('TIME')
            local now = t[1] * 1000000 + t[2]
            local year = 31622400000000
            local known = number(ARGV[1]) or 0
            if known > now + year then known = 0 end
            local v = redis.pcall('HMGET', KEYS[1], 's', 'c', 'f', 'n')
            if v.err then
              if not string.find(v.err, 'WRONGTYPE', 1, true) then return v end
              v = {}
            end
            local s, c, f = number(v[1]), number(v[2]), number(v[3] or '0')
            local whole = s and c and f and c <= s and f <= s and s >= known and s <= now + year and s >= now - year
            if whole and kind == 'l' then
              keep()
              return {s, c}
            end
            local before = whole and s or 0
            s = math.max(now, before + 1, known + 1)
            if not whole then kind = 'c' end
            if kind == 'c' then
              c = s
              redis.call('UNLINK', KEYS[1])
            else
              redis.call('HDEL', KEYS[1], '')
            end
            put('s', s, 'c', c)
            for i = 6, #ARGV do put(ARGV[i], s) end
            local size = redis.pcall('HLEN', KEYS[1])
            if kind == 't' and type(size) == 'number' and size > 1024 then
              local from = v[4] and string.find(v[4], '^%d+$') and v[4] or '0'
              local step = redis.pcall('HSCAN', KEYS[1], from, 'COUNT', 64 + 4 * (#ARGV - 5))
              if step.err then step = {'0', {}} end
              local tags, sample = {}, {}
              for i = 1, #step[2], 2 do
                if string.find(step[2][i], '^[=#]') then
                  local n = number(step[2][i + 1])
                  if not n or n > s then
                    n = s
                    put(step[2][i], n)
                  end
                  tags[step[2][i]] = n
                  sample[#sample + 1] = n
                end
              end
              local floor, dead = f, now - 2764800000000
              if from == '0' and #sample > 0 and size > 65536 then
                table.sort(sample)
                floor = math.max(floor, sample[math.ceil(#sample / 4)])
              end
              for tag, n in pairs(tags) do
                if n <= floor or n < dead then
                  f = math.max(f, floor, n)
                  redis.call('HDEL', KEYS[1], tag)
                end
              end
              put('f', math.max(f, floor))
              redis.call('HSET', KEYS[1], 'n', step[1])
            end
            keep()
            redis.pcall('PUBLISH', ARGV[2], kind .. string.format('%.0f:%.0f:', before, s) .. ARGV[5])
            return {s, c, before}
            """
    )

    /// Removes a value unless another has taken its place.
    ///
    /// Answers whether it did.
    ///
    /// KEYS: the value's name. ARGV: the version stamp of the value.
    static let removeVersion = RedisScript(
        name: "remove-version",
        digest: "20ba46def84ba74c6b7d6a4b88de1fafc0502883",
        source: """
            if redis.call('GETRANGE', KEYS[1], 20, 35) ~= ARGV[1] then return 0 end
            return redis.call('UNLINK', KEYS[1])
            """
    )

    /// Removes the numbers of tags that were not invalidated again, and raises the floor to them.
    ///
    /// KEYS: the hash. ARGV: each tag's field and the number that it had. Answers how many were removed.
    static let forgetTags = RedisScript(
        name: "forget-tags",
        digest: "47ddca316b5096c7a9f1d4713f4d89e41a923bb0",
        source: """
            local n = 0
            local f = tonumber(redis.call('HGET', KEYS[1], 'f') or '0') or 0
            for i = 1, #ARGV, 2 do
              if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
                n = n + redis.call('HDEL', KEYS[1], ARGV[i])
                f = math.max(f, tonumber(ARGV[i + 1]))
              end
            end
            if n > 0 then redis.call('HSET', KEYS[1], 'f', string.format('%.0f', f)) end
            return n
            """
    )

    static let all = [advance, removeVersion, forgetTags]
}
