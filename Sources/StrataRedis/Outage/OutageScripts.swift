/// The script that repeats a failed invalidation.
///
/// KEYS are the value's and the lease's name, in that order.
///
/// The digest is checked against a server by a test.
enum OutageScripts {
    /// Removes value and lease, unless the value's fetch began, or its set was made, after the invalidation.
    ///
    /// ARGV: how many ms ago such a fetch began at the earliest, the channel, the message, and how many ms the client's
    /// values are ahead of the server's clock: none, unless a test moves the client's.
    ///
    /// Answers 1 when it removed them, 0 when it left the value. Only an envelope of format 1 tells when its fetch
    /// began; other bytes are removed, as the invalidation would have done. So is a value from the future: the server's
    /// clock was set back.
    static let removeOlder = RedisScript(
        name: "remove-older",
        digest: "95b1c72351f0fefc4ac05c1b85457510302fd0ff",
        source: #"""
            local v = redis.pcall('GET', KEYS[1])
            if type(v) == 'string' and #v >= 86 and string.sub(v, 1, 4) == '\215\83\84\1' then
              local t = redis.call('TIME')
              local now = t[1] * 1000 + t[2] / 1000 + tonumber(ARGV[4])
              local stored, took = 0, 0
              for i = 44, 37, -1 do stored = stored * 256 + string.byte(v, i) end
              for i = 64, 61, -1 do took = took * 256 + string.byte(v, i) end
              if stored <= now + 2000 and stored - took / 1000 > now - tonumber(ARGV[1]) then return 0 end
            end
            redis.call('DEL', KEYS[1], KEYS[2])
            redis.call('PUBLISH', ARGV[2], ARGV[3])
            return 1
            """#
    )

    static let all = [removeOlder]
}
