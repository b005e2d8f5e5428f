/// The scripts that touch a value and its lease in one step.
///
/// KEYS are the value's and the lease's name, in that order.
///
/// A script that writes a value reads it behind the write. So a server that remembers what its clients read
/// (``TrackingMode/perKey``) tells this one of later changes; see `Models/tracking.pml`.
///
/// Digests are checked against a server by a test.
enum LeaseScripts {
    /// Reads the value, or takes the lease.
    ///
    /// ARGV: the lease record, its time in ms, the mode, how many ms a failure is remembered beyond its back-off, the
    /// version stamp of the value to refresh, and the longest times to live in ms of a lease and of a failure that are
    /// believed.
    ///
    /// The mode `miss` accepts any value as an answer, `refresh` a value with another stamp, `always` none.
    ///
    /// Answers {1, value, 0, ''} with a value; {2, header of the old value or nil, 0, failure before or ''} to the new
    /// holder of the lease; {3, nil, ms of the lease, record} while another instance holds it; {4, nil, ms of the
    /// back-off, failure} during a back-off. Running it again with the same record gives the same answer, so a lost
    /// reply locks no instance out.
    ///
    /// A record without a time to live, with one longer than this library sets, or longer than its records, comes from
    /// another program and is replaced; so is one that begins as a failure and is none.
    ///
    /// The value to replace is kept at least as long as the lease, but not served for longer: its envelope has its end.
    /// So a value that is missing at the store was removed and has not expired.
    static let readOrLead = RedisScript(
        name: "read-or-lead",
        digest: "fd13235561eb6f2eca47c383c2fbea72c943e20e",
        source: """
            local v = redis.call('GET', KEYS[1])
            if v and (ARGV[3] == 'miss' or ARGV[3] == 'refresh' and string.sub(v, 21, 36) ~= ARGV[5]) then
              return {1, v, 0, ''}
            end
            local f = ''
            local l = redis.pcall('GETRANGE', KEYS[2], 0, 511)
            if type(l) == 'string' and l ~= '' and l ~= ARGV[1] and redis.call('STRLEN', KEYS[2]) < 512 then
              local t = redis.call('PTTL', KEYS[2])
              if string.sub(l, 1, 1) ~= 'F' then
                if t >= 0 and t <= tonumber(ARGV[6]) then return {3, false, t, l} end
              elseif string.find(l, '^F%d+:') and t >= 0 and t <= tonumber(ARGV[7]) then
                if t > tonumber(ARGV[4]) then return {4, false, t - tonumber(ARGV[4]), l} end
                f = l
              end
            end
            redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
            if not v then return {2, false, 0, f} end
            local p = redis.call('PTTL', KEYS[1])
            if p >= 0 and p < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
            return {2, string.sub(v, 1, 86), 0, f}
            """
    )

    /// Extends a lease that still stands, and the life of the value to replace.
    ///
    /// ARGV: the lease record, its time in ms. Answers 1, or 0 when the lease belongs to another instance or is gone.
    static let renew = RedisScript(
        name: "renew",
        digest: "8b70e3272302d43ec6510d1c99b778b055bcd516",
        source: """
            if redis.pcall('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            local p = redis.call('PTTL', KEYS[1])
            if p >= 0 and p < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
            return redis.call('PEXPIRE', KEYS[2], ARGV[2])
            """
    )

    /// Stores a value if the lease still stands, and ends the lease in any case.
    ///
    /// ARGV: the lease record, the value, its ms to live, the version stamp of the value when the lease was granted
    /// (`none` for bytes too short to have one, empty for no value), and the channel and message for waiting callers
    /// that get no value. Other programs know nothing of leases: the stamp shows their changes.
    ///
    /// Answers 1; 0 when the lease belongs to another instance or is gone; -2 when the value has changed; -1 when the
    /// server has no memory for it. The SET is a protected call, so that the script can tell the caller which.
    static let storeIfLeader = RedisScript(
        name: "store-if-leader",
        digest: "ebec14357bbd00b1c8e8f40fd24bedc33cdaad62",
        source: """
            if redis.pcall('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            local n = -2
            local s = redis.pcall('GETRANGE', KEYS[1], 20, 35)
            if s == '' and redis.call('EXISTS', KEYS[1]) == 1 then s = 'none' end
            if s == ARGV[4] then
              local r = redis.pcall('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
              if type(r) == 'table' and r.err then n = -1 else n = 1 end
              redis.call('EXISTS', KEYS[1])
            end
            redis.call('DEL', KEYS[2])
            if n < 0 then redis.call('PUBLISH', ARGV[5], ARGV[6]) end
            return n
            """
    )

    /// Makes the stored value fresh again if the lease still stands, and ends the lease in any case.
    ///
    /// ARGV: the lease record, the header of the envelope, its ms to live, the version stamp of the value, the channel,
    /// the message.
    ///
    /// Answers as the store does.
    static let extendIfLeader = RedisScript(
        name: "extend-if-leader",
        digest: "28282bb19ab21f2541aa3b2164fa49efef3ff30a",
        source: """
            if redis.pcall('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            local n = -2
            if redis.pcall('GETRANGE', KEYS[1], 20, 35) == ARGV[4] then
              local r = redis.pcall('SETRANGE', KEYS[1], 0, ARGV[2])
              if type(r) == 'table' and r.err then n = -1 else n = redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
              redis.call('EXISTS', KEYS[1])
            end
            redis.call('DEL', KEYS[2])
            if n < 0 then redis.call('PUBLISH', ARGV[5], ARGV[6]) end
            return n
            """
    )

    /// Ends a lease without a value.
    ///
    /// ARGV: the lease record, the channel, the message. Answers 1, or 0 when the lease belongs to another instance or
    /// is gone.
    static let endWithoutValue = RedisScript(
        name: "end-without-value",
        digest: "d0a8a4fd1e0bb2fadac133073ed54f2ce475acff",
        source: """
            if redis.pcall('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            redis.call('DEL', KEYS[2])
            redis.call('PUBLISH', ARGV[2], ARGV[3])
            return 1
            """
    )

    /// Ends a lease with a failure, which waiting callers get and which starts a back-off.
    ///
    /// ARGV: the lease record, the failure, how many ms it is remembered, the channel, the message. Answers 1, or 0
    /// when the lease belongs to another instance or is gone. When there is no memory for the failure, the lease ends
    /// without one.
    static let endWithFailure = RedisScript(
        name: "end-with-failure",
        digest: "bf6a5e6688284eb4cac2f274c72ce16785ce36db",
        source: """
            if redis.pcall('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            local r = redis.pcall('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
            if type(r) == 'table' and r.err then redis.call('DEL', KEYS[2]) end
            redis.call('PUBLISH', ARGV[4], ARGV[5])
            return 1
            """
    )

    /// Removes value and lease, so that a running fetch cannot store its value.
    ///
    /// ARGV: channel, message.
    ///
    /// The server sends no notice for a value key that did not exist; the message wakes callers that wait for it.
    static let invalidate = RedisScript(
        name: "invalidate",
        digest: "eafc0cd464b689fd2ed51e784303f87886d0d68a",
        source: """
            local n = redis.call('DEL', KEYS[1], KEYS[2])
            redis.call('PUBLISH', ARGV[1], ARGV[2])
            return n
            """
    )

    /// Stores a value that a user has set, and ends any lease: a running fetch may have read an older value.
    ///
    /// ARGV: the value, its ms to live, and until when it may be applied, in ms of the server's clock.
    ///
    /// Bytes that are delayed on the way arrive long after their caller was told that the write failed, and newer
    /// changes may have been acknowledged since. So a write that comes too late is not applied: the answer is 0,
    /// otherwise 1.
    ///
    /// The SET comes before the DEL: after a first write the server no longer checks its memory limit for the script.
    static let write = RedisScript(
        name: "write",
        digest: "4510956497ee7f98cf6d28d40d490a0d24380d62",
        source: """
            local t = redis.call('TIME')
            if t[1] * 1000 + t[2] / 1000 > tonumber(ARGV[3]) then return 0 end
            redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
            redis.call('DEL', KEYS[2])
            redis.call('EXISTS', KEYS[1])
            return 1
            """
    )

    static let all = [
        readOrLead, renew, storeIfLeader, extendIfLeader, endWithoutValue, endWithFailure, invalidate, write,
    ]
}
