/// The scripts that change a value only if it is still the one that was read.
///
/// KEYS are the value's and the lease's name, in that order. Each change has a version of its own, and none comes back:
/// so a script that arrives late, or a second time, finds another version and does nothing. Only the absence of a value
/// may come back; the caller bounds how long a change of an absence may be applied. A script reads what it writes, as
/// ``LeaseScripts`` say.
enum ChangeScripts {
    /// Stores a value in the place of the one that was read, and ends any lease as a set does.
    ///
    /// ARGV: the value, its ms to live, until when it may be applied in ms of the server's clock, the version stamp
    /// that was read (`none` for bytes too short to have one, empty for no value), the stamp of the value.
    ///
    /// Answers 1, also when this very value is there already: the answer to an earlier call was lost. 0 when it comes
    /// too late; -2 when the value has changed.
    static let replace = RedisScript(
        name: "replace",
        digest: "f4e86030d12e69794458a65d793a20ffaaf36fcf",
        source: """
            local s = redis.pcall('GETRANGE', KEYS[1], 20, 35)
            if s == ARGV[5] then return 1 end
            if s == '' and redis.call('EXISTS', KEYS[1]) == 1 then s = 'none' end
            if s ~= ARGV[4] then return -2 end
            local t = redis.call('TIME')
            if t[1] * 1000 + t[2] / 1000 > tonumber(ARGV[3]) then return 0 end
            redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
            redis.call('DEL', KEYS[2])
            redis.call('EXISTS', KEYS[1])
            return 1
            """
    )

    /// Gives the value that was read another header, with another lifetime, and ends any lease as a set does.
    ///
    /// ARGV: the header, its ms to live, the version stamp that was read, until when it may be applied in ms of the
    /// server's clock, the stamp of the header.
    ///
    /// Answers as `replace`.
    static let rehead = RedisScript(
        name: "rehead",
        digest: "8215ee1b69032ac05962b29ba7e7337c81f27a6a",
        source: """
            local v = redis.pcall('GETRANGE', KEYS[1], 20, 35)
            if v == ARGV[5] then return 1 end
            if v ~= ARGV[3] then return -2 end
            local t = redis.call('TIME')
            if t[1] * 1000 + t[2] / 1000 > tonumber(ARGV[4]) then return 0 end
            redis.call('SETRANGE', KEYS[1], 0, ARGV[1])
            redis.call('PEXPIRE', KEYS[1], ARGV[2])
            redis.call('DEL', KEYS[2])
            redis.call('EXISTS', KEYS[1])
            return 1
            """
    )

    /// Removes the value that was read, and ends any lease as a removal does.
    ///
    /// ARGV: until when it may be applied in ms of the server's clock, the version stamp that was read, the channel,
    /// the message.
    ///
    /// Answers as `replace`, but cannot tell an earlier call of itself from another's removal.
    static let removeUnchanged = RedisScript(
        name: "remove-unchanged",
        digest: "f6f6ec6302f0a9edc6e52b3324870a01a14c3972",
        source: """
            local s = redis.pcall('GETRANGE', KEYS[1], 20, 35)
            if s == '' and redis.call('EXISTS', KEYS[1]) == 1 then s = 'none' end
            if s ~= ARGV[2] then return -2 end
            local t = redis.call('TIME')
            if t[1] * 1000 + t[2] / 1000 > tonumber(ARGV[1]) then return 0 end
            redis.call('DEL', KEYS[1], KEYS[2])
            redis.call('PUBLISH', ARGV[3], ARGV[4])
            return 1
            """
    )

    /// Compares the value with a late write, and ends what may have asked the source before that was written.
    ///
    /// ARGV: the stamp of the write, the bytes with which the stamps of late writes begin, the step (`l`ooks,
    /// `s`ettles, `f`orgets), the channel, and two messages: that the key was removed, and that a lease has ended.
    ///
    /// Answers 1 for this write; 2 for another late one, which is left alone; 0 for neither, and then the key is
    /// removed as by a removal, unless the step only looks. A step that forgets removes this write, too, and answers 0.
    static let settle = RedisScript(
        name: "settle",
        digest: "a4d5c4df3720f8713e5ef8438b436522c8b52308",
        source: """
            local s = redis.pcall('GETRANGE', KEYS[1], 20, 35)
            if type(s) ~= 'string' then s = '' end
            local n = 0
            if s == ARGV[1] then n = 1 elseif string.sub(s, 1, 8) == ARGV[2] then n = 2 end
            if ARGV[3] == 'l' or n == 2 then return n end
            if n == 1 and ARGV[3] == 's' then
              if redis.call('DEL', KEYS[2]) == 1 then redis.call('PUBLISH', ARGV[4], ARGV[6]) end
              return n
            end
            redis.call('DEL', KEYS[1], KEYS[2])
            redis.call('PUBLISH', ARGV[4], ARGV[5])
            return 0
            """
    )

    static let all = [replace, rehead, removeUnchanged, settle]
}
