/// The scripts that touch a value and its lease in one step.
///
/// KEYS are the value's and the lease's name, in that order.
///
/// Digests are checked against a server by a test.
enum LeaseScripts {
    /// Reads the value, or becomes the one who fetches it.
    ///
    /// ARGV: token, lease in ms, `miss` or `refresh`.
    ///
    /// Answers {1, value, ms to live}, {2, old value or nil, 0} to the leader, {3, old value or nil, ms of the lease} to
    /// everybody else. Running it again with the same token gives the same answer, so a lost reply locks nobody out.
    static let readOrLead = RedisScript(
        name: "read-or-lead",
        digest: "57a99949d3d1579329360259391a46dcffa379da",
        source: """
            local v = redis.call('GET', KEYS[1])
            if v and ARGV[3] ~= 'refresh' then return {1, v, redis.call('PTTL', KEYS[1])} end
            if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {2, v, 0} end
            if redis.call('GET', KEYS[2]) == ARGV[1] then
              redis.call('PEXPIRE', KEYS[2], ARGV[2])
              return {2, v, 0}
            end
            return {3, v, redis.call('PTTL', KEYS[2])}
            """
    )

    /// Extends a lease that still stands.
    ///
    /// ARGV: token, lease in ms. Answers 1, or 0 when the lease is another's or gone.
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
    /// ARGV: token, value, ms to live.
    ///
    /// Answers 1; 0 when the lease is another's or gone; -1 when the server had no memory for the value. The SET is
    /// protected, or the error would leave the lease behind.
    static let storeIfLeader = RedisScript(
        name: "store-if-leader",
        digest: "0ca80bffc74d08e9ca9fcf1c4aac060ab22628bb",
        source: """
            if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            local r = redis.pcall('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
            redis.call('DEL', KEYS[2])
            if type(r) == 'table' and r.err then return -1 end
            return 1
            """
    )

    /// Ends a lease without a value.
    ///
    /// ARGV: token, channel, message. Answers 1, or 0 when the lease is another's or gone.
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
    /// ARGV: value, ms to live.
    ///
    /// The SET comes first: behind a write of its own, a script is let past the memory limit.
    static let write = RedisScript(
        name: "write",
        digest: "1ddf2ec461c15a2b276b028130a5593ab318a757",
        source: """
            redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
            redis.call('DEL', KEYS[2])
            return 1
            """
    )

    static let all = [readOrLead, renew, storeIfLeader, endWithoutValue, invalidate, write]
}
