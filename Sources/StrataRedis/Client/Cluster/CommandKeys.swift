/// Where the keys of a command stand among its words.
///
/// For commands that users send as they are. One that is not listed has its only key behind its name, as most have.
enum CommandKeys {
    /// The slot that a command is to be sent to; `nil` for one without keys, which any primary answers.
    ///
    /// - Throws: ``RedisError/Code/crossSlot``.
    static func slot(of command: [[UInt8]]) throws(RedisError) -> UInt16? {
        var slot: UInt16?
        for position in positions(in: command) where command.indices.contains(position) {
            let next = HashSlot.of(command[position])
            guard slot == nil || slot == next else {
                throw RedisError(code: .crossSlot, message: "the keys of a command lie in different slots")
            }
            slot = next
        }
        return slot
    }

    private static let withoutKeys: Set<String> = [
        "ACL", "ASKING", "AUTH", "BGREWRITEAOF", "BGSAVE", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DBSIZE", "DEBUG",
        // Some of these are never sent by this library itself.
        "DISCARD", "ECHO", "EXEC", "FAILOVER", "FLUSHALL", "FLUSHDB", "FUNCTION", "HELLO", "INFO", "KEYS", "LASTSAVE",
        "LATENCY", "LOLWUT", "MODULE", "MONITOR", "MULTI", "PING", "PSUBSCRIBE", "PSYNC", "PUBLISH", "PUBSUB",
        "PUNSUBSCRIBE", "QUIT", "RANDOMKEY", "READONLY", "READWRITE", "REPLICAOF", "RESET", "ROLE", "SAVE", "SCAN",
        "SCRIPT", "SELECT", "SHUTDOWN", "SLAVEOF", "SLOWLOG", "SUBSCRIBE", "SWAPDB", "SYNC", "TIME", "UNSUBSCRIBE",
        "UNWATCH", "WAIT", "WAITAOF",
    ]
    /// All words are keys.
    private static let all: Set<String> = [
        "DEL", "EXISTS", "MGET", "PFCOUNT", "PFMERGE", "SDIFF", "SDIFFSTORE", "SINTER", "SINTERSTORE", "SSUBSCRIBE",
        "SUNION", "SUNIONSTORE", "SUNSUBSCRIBE", "TOUCH", "UNLINK", "WATCH",
    ]
    /// All words but the last are keys.
    private static let allButLast: Set<String> = ["BLPOP", "BRPOP", "BZPOPMAX", "BZPOPMIN"]
    /// Every second word is a key.
    private static let alternating: Set<String> = ["MSET", "MSETNX"]
    /// The first two words are keys.
    private static let two: Set<String> = [
        "BLMOVE", "BRPOPLPUSH", "COPY", "GEOSEARCHSTORE", "LCS", "LMOVE", "RENAME", "RENAMENX", "RPOPLPUSH", "SMOVE",
        "ZRANGESTORE",
    ]
    /// The key stands behind a subcommand.
    private static let second: Set<String> = ["MEMORY", "OBJECT", "XGROUP", "XINFO"]
    /// The number of keys stands at this position, and the keys behind it.
    private static let counted: [String: Int] = [
        "BLMPOP": 2, "BZMPOP": 2, "EVAL": 2, "EVALSHA": 2, "EVALSHA_RO": 2, "EVAL_RO": 2, "FCALL": 2, "FCALL_RO": 2,
        "LMPOP": 1, "SINTERCARD": 1, "ZDIFF": 1, "ZDIFFSTORE": 2, "ZINTER": 1, "ZINTERCARD": 1, "ZINTERSTORE": 2,
        "ZMPOP": 1, "ZUNION": 1, "ZUNIONSTORE": 2,
    ]
    /// Commands of ``counted`` with a key before the number.
    private static let stores: Set<String> = ["ZDIFFSTORE", "ZINTERSTORE", "ZUNIONSTORE"]

    private static func positions(in command: [[UInt8]]) -> [Int] {
        guard let first = command.first else { return [] }
        let name = String(decoding: first, as: UTF8.self).uppercased()
        if withoutKeys.contains(name) { return [] }
        if all.contains(name) { return Array(command.indices.dropFirst()) }
        if allButLast.contains(name) { return Array(command.indices.dropFirst().dropLast()) }
        if alternating.contains(name) { return Array(stride(from: 1, to: command.count, by: 2)) }
        if two.contains(name) { return [1, 2] }
        if second.contains(name) { return command.count > 2 ? [2] : [] }
        if name == "BITOP" { return Array(command.indices.dropFirst(2)) }
        if name == "XREAD" || name == "XREADGROUP" { return streams(in: command) }
        if let place = counted[name] {
            let number = command.indices.contains(place) ? ServerNumber.decimal(command[place], in: 0...100_000) : nil
            let last = min(place + Int(number ?? 0), command.count - 1)
            return (stores.contains(name) ? [1] : []) + (last > place ? Array(place + 1...last) : [])
        }
        return [1]
    }

    /// Behind `STREAMS` stand as many keys as identifiers.
    private static func streams(in command: [[UInt8]]) -> [Int] {
        // A group and a consumer may have any name.
        let options = String(decoding: command[0], as: UTF8.self).uppercased() == "XREADGROUP" ? 4 : 1
        let word = command.indices.dropFirst(options)
            .first { String(decoding: command[$0], as: UTF8.self).uppercased() == "STREAMS" }
        guard let word else { return [] }
        let first = word + 1
        return Array(first..<first + (command.count - first) / 2)
    }
}
