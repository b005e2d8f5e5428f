/// The scripts that touch a value and its lease in one step.
///
/// KEYS are the value's and the lease's name, in that order.
///
/// Digests are checked against a server by a test.
enum LeaseScripts {
    /// Reads the value, or becomes the one who fetches it.
    ///
    /// ARGV: lease record, lease in ms, `miss` or `refresh`, for how many ms a failure is remembered beyond its back-off, the
    /// version stamp of the value that is to be refreshed. Another value than that is an answer also to who refreshes.
    ///
    /// Answers {1, value, 0, ''} with a value; {2, old value or nil, 0, failure before or ''} to the leader; {3, old value or
    /// nil, ms of the lease, record} while another leads; {4, old value or nil, ms of the back-off, failure} while a
    /// failure is not to be tried again. Running it again with the same record gives the same answer, so a lost reply locks
    /// nobody out.
    static let readOrLead = RedisScript(
        name: "read-or-lead",
        digest: "129ae2d90796eafce3506dda147edb5c55779223",
        source: """
            local v = redis.call('GET', KEYS[1])
            if v and (ARGV[3] == 'miss' or string.sub(v, 21, 36) ~= ARGV[5]) then return {1, v, 0, ''} end
            local l = redis.call('GET', KEYS[2])
            if l == ARGV[1] then
              redis.call('PEXPIRE', KEYS[2], ARGV[2])
              return {2, v, 0, ''}
            end
            if l then
              local t = redis.call('PTTL', KEYS[2])
              if string.sub(l, 1, 1) ~= 'F' then return {3, v, t, l} end
              if t > tonumber(ARGV[4]) then return {4, v, t - tonumber(ARGV[4]), l} end
            end
            redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
            return {2, v, 0, l or ''}
            """
    )

    /// Extends a lease that still stands.
    ///
    /// ARGV: lease record, lease in ms. Answers 1, or 0 when the lease is another's or gone.
    static let renew = RedisScript(
        name: "renew",
        digest: "af66142e9d6a7330837964d13b949c74217d3525",
        source: """
            if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
            return 0
            """
    )

    /// Stores a value if the lease still stands, and ends the lease.
    ///
    /// ARGV: lease record, value, ms to live, the version stamp of what lay there when the lease was given, `none` for
    /// something too short to have one, empty for nothing. Other programs know nothing of leases: what they have changed
    /// since shows in the stamp.
    ///
    /// Answers 1; 0 when the lease is another's or gone. With -2, when somebody has changed the value, and -1, when the server
    /// had no memory for it, the lease still stands and is to be ended. The SET is protected, or the caller would not be told
    /// which.
    static let storeIfLeader = RedisScript(
        name: "store-if-leader",
        digest: "860e4f083635bb8437c12022fcf7c87957bfc89e",
        source: """
            if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            local s = redis.pcall('GETRANGE', KEYS[1], 20, 35)
            if s == '' and redis.call('EXISTS', KEYS[1]) == 1 then s = 'none' end
            if s ~= ARGV[4] then return -2 end
            local r = redis.pcall('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
            if type(r) == 'table' and r.err then return -1 end
            redis.call('DEL', KEYS[2])
            return 1
            """
    )

    /// Makes the value that lies there fresh again if the lease still stands, and ends the lease.
    ///
    /// ARGV: lease record, header of the envelope, ms to live, version stamp of the value that is meant.
    ///
    /// Answers as the store does.
    static let extendIfLeader = RedisScript(
        name: "extend-if-leader",
        digest: "3b27a82611304ef49cac46bfcdf8a1b92eda9d38",
        source: """
            if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            if redis.pcall('GETRANGE', KEYS[1], 20, 35) ~= ARGV[4] then return -2 end
            local r = redis.pcall('SETRANGE', KEYS[1], 0, ARGV[2])
            if type(r) == 'table' and r.err then return -1 end
            redis.call('PEXPIRE', KEYS[1], ARGV[3])
            redis.call('DEL', KEYS[2])
            return 1
            """
    )

    /// Ends a lease without a value.
    ///
    /// ARGV: lease record, channel, message. Answers 1, or 0 when the lease is another's or gone.
    static let endWithoutValue = RedisScript(
        name: "end-without-value",
        digest: "c2abfaa340f8c321a82727fdbe02c8c95ad0614a",
        source: """
            if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            redis.call('DEL', KEYS[2])
            redis.call('PUBLISH', ARGV[2], ARGV[3])
            return 1
            """
    )

    /// Ends a lease with a failure that all who wait share, and that nobody tries again before its back-off is over.
    ///
    /// ARGV: lease record, failure, ms that the failure is remembered, channel, message. Answers 1, or 0 when the lease is
    /// another's or gone. Where there is no memory for the failure, the lease just ends.
    static let endWithFailure = RedisScript(
        name: "end-with-failure",
        digest: "91932d391ab72b34b7246ffb7644ef97bf492f91",
        source: """
            if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            local r = redis.pcall('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
            if type(r) == 'table' and r.err then redis.call('DEL', KEYS[2]) end
            redis.call('PUBLISH', ARGV[4], ARGV[5])
            return 1
            """
    )

    /// Removes value and lease, so that a fetch under way cannot store what it found.
    ///
    /// ARGV: channel, message.
    ///
    /// No broadcast comes for a value key that did not exist; the message tells those who wait for it.
    static let invalidate = RedisScript(
        name: "invalidate",
        digest: "eafc0cd464b689fd2ed51e784303f87886d0d68a",
        source: """
            local n = redis.call('DEL', KEYS[1], KEYS[2])
            redis.call('PUBLISH', ARGV[1], ARGV[2])
            return n
            """
    )

    /// Stores a value that a user has set, and ends any lease: a fetch under way may have found something older.
    ///
    /// ARGV: value, ms to live, until when it may be applied, in ms of the server's clock.
    ///
    /// Bytes that were held up on the way arrive long after their caller was told that the write had failed, and newer
    /// changes may have been acknowledged since. So a write that comes too late is not applied: the answer is 0, else 1.
    ///
    /// The SET comes before the DEL: behind a write of its own, a script is let past the memory limit.
    static let write = RedisScript(
        name: "write",
        digest: "bf1200e919e008d07efbbfb05b315c6e3da4f22f",
        source: """
            local t = redis.call('TIME')
            if t[1] * 1000 + t[2] / 1000 > tonumber(ARGV[3]) then return 0 end
            redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
            redis.call('DEL', KEYS[2])
            return 1
            """
    )

    static let all = [
        readOrLead, renew, storeIfLeader, extendIfLeader, endWithoutValue, endWithFailure, invalidate, write,
    ]
}
