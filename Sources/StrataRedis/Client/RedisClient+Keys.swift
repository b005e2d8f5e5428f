internal import Strata

extension RedisClient {
    /// DEL: removes keys; the server frees their memory at once.
    ///
    /// One round trip.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - repeatable: Whether it may be sent again when it is not known whether the server has run it. It may then
    ///     remove what others wrote in between.
    ///   - timeout: How long the call may take.
    /// - Returns: How many of them existed.
    /// - Throws: ``RedisError``; `CancellationError`.
    @discardableResult
    public func delete(_ keys: RedisKey..., repeatable: Bool = false, timeout: Duration? = nil) async throws -> Int {
        try await count(of: "DEL", repeatable ? .repeatable : .once, keys, timeout: timeout)
    }

    /// UNLINK: removes keys; the server frees their memory in the background.
    ///
    /// One round trip, none for no keys.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - repeatable: Whether it may be sent again when it is not known whether the server has run it. It may then
    ///     remove what others have written in between.
    ///   - timeout: How long the call may take.
    /// - Returns: How many of them existed.
    /// - Throws: ``RedisError``; `CancellationError`.
    @discardableResult
    public func unlink(_ keys: [RedisKey], repeatable: Bool = false, timeout: Duration? = nil) async throws -> Int {
        try await count(of: "UNLINK", repeatable ? .repeatable : .once, keys, timeout: timeout)
    }

    /// EXISTS: how many of the keys exist; one that is named twice counts twice.
    ///
    /// One round trip, none for no keys.
    public func exists(_ keys: RedisKey...) async throws -> Int {
        try await count(of: "EXISTS", .repeatable, keys)
    }

    /// EXISTS: whether a key exists.
    ///
    /// One round trip.
    func exists(_ key: RedisKey, timeout: Duration) async throws -> Bool {
        let reply = try await execute(.repeatable, timeout: timeout, slot: HashSlot.of(key), expecting: .integer) {
            writer in
            writer.begin(2)
            writer.argument("EXISTS" as StaticString)
            writer.argument(key)
        }
        return reply.integer == 1
    }

    /// PTTL: how long a key has to live.
    ///
    /// One round trip.
    public func timeToLive(of key: RedisKey) async throws -> RedisTimeToLive {
        let reply = try await execute(.repeatable, slot: HashSlot.of(key), expecting: .integer) { writer in
            writer.begin(2)
            writer.argument("PTTL" as StaticString)
            writer.argument(key)
        }
        guard let milliseconds = reply.number(in: ServerNumber.timeToLive) else { throw unexpected("PTTL") }
        return switch milliseconds {
        case -2: .absent
        case -1: .unlimited
        default: .remaining(.milliseconds(milliseconds))
        }
    }

    /// PEXPIRE: gives a key a new time to live.
    ///
    /// One round trip. It is not sent again when it is not known whether the server has run it: others may have given
    /// the key another time to live in between.
    ///
    /// - Returns: False when the key does not exist.
    @discardableResult
    public func expire(_ key: RedisKey, in lifetime: Duration) async throws -> Bool {
        let milliseconds = try expiry(lifetime)
        let reply = try await execute(.once, slot: HashSlot.of(key), expecting: .integer) { writer in
            writer.begin(3)
            writer.argument("PEXPIRE" as StaticString)
            writer.argument(key)
            writer.argument(milliseconds)
        }
        guard let changed = reply.count else { throw unexpected("PEXPIRE") }
        return changed != 0
    }

    /// SCAN: one step through the keys of the database.
    ///
    /// A cursor belongs to one node, so in a cluster this is refused with ``RedisError/Code/unsupportedByCluster``;
    /// ``keys(beginningWith:)`` walks over all nodes.
    ///
    /// - Parameters:
    ///   - cursor: 0 to begin, then what the step before returned.
    ///   - pattern: A glob; ``RedisGlob/literal(_:)`` escapes text for it.
    ///   - count: How much the server should look at in this step.
    /// - Returns: The cursor of the next step, 0 at the end, and the keys of this step; a key may come more than once.
    /// - Throws: ``RedisError``; `CancellationError`.
    public func scan(
        from cursor: UInt64 = 0,
        matching pattern: [UInt8]? = nil,
        count: Int = 512
    ) async throws -> (next: UInt64, keys: [RedisKey]) {
        guard cluster == nil else {
            throw RedisError(code: .unsupportedByCluster, message: "a cursor belongs to one node of the cluster")
        }
        let reply = try await execute(.repeatable, expecting: .list) { writer in
            writer.begin(pattern == nil ? 4 : 6)
            writer.argument("SCAN" as StaticString)
            writer.argument(String(cursor))
            if let pattern {
                writer.argument("MATCH" as StaticString)
                writer.argument(pattern)
            }
            writer.argument("COUNT" as StaticString)
            writer.argument(Int64(max(count, 1)))
        }
        guard
            case .array(let parts) = reply, parts.count == 2,
            let next = parts[0].cursor,
            case .array(let keys) = parts[1]
        else { throw unexpected("SCAN") }
        return (next, keys.compactMap { $0.bytes.map { RedisKey($0) } })
    }

    /// HSCAN: one step through the fields of a hash; none where another type stands under the name.
    ///
    /// One round trip.
    func fields(
        of hash: RedisKey,
        from cursor: UInt64
    ) async throws -> (next: UInt64, fields: [(name: [UInt8], value: [UInt8])]) {
        let reply: RESPValue
        do {
            reply = try await execute(.repeatable, slot: HashSlot.of(hash), expecting: .list) { writer in
                writer.begin(5)
                writer.argument("HSCAN" as StaticString)
                writer.argument(hash)
                writer.argument(String(cursor))
                writer.argument("COUNT" as StaticString)
                writer.argument(512)
            }
        } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
            return (0, [])
        }
        guard
            case .array(let parts) = reply, parts.count == 2,
            let next = parts[0].cursor,
            case .array(let elements) = parts[1], elements.count.isMultiple(of: 2)
        else { throw unexpected("HSCAN") }
        let fields = stride(from: 0, to: elements.count, by: 2)
            .map { (name: elements[$0].bytes ?? [], value: elements[$0 + 1].bytes ?? []) }
        return (next, fields)
    }

    /// DBSIZE: how many keys the database has; all nodes' together.
    ///
    /// One round trip.
    func databaseSize() async throws -> Int {
        if cluster != nil {
            var size = 0
            for node in try await primaries() { size += try await node.databaseSize() }
            return size
        }
        let reply = try await execute(.repeatable, expecting: .integer) { writer in
            writer.begin(1)
            writer.argument("DBSIZE" as StaticString)
        }
        guard let count = reply.count else { throw unexpected("DBSIZE") }
        return count
    }

    func count(
        of command: StaticString,
        _ repetition: Repetition,
        _ keys: [RedisKey],
        timeout: Duration? = nil
    ) async throws -> Int {
        guard !keys.isEmpty else { return 0 }
        if cluster != nil, let parts = slots(of: keys) {
            let counts = try await bySlot(keys, parts, timeout: timeout) { part, left in
                let count = try await self.count(of: command, repetition, part, timeout: left)
                return [count] + Array(repeating: 0, count: part.count - 1)
            }
            return counts.reduce(0, +)
        }
        return try await ofOneSlot(command, repetition, keys, timeout: timeout, expecting: .integer)
            .reduce(0) { sum, reply in
                guard let count = reply.count else { throw unexpected("\(command)") }
                return sum + count
            }
    }

    func optionalBytes(_ reply: RESPValue, of command: String) throws -> [UInt8]? {
        switch reply {
        case .null: nil
        case .bytes(let bytes): bytes
        case .oversized(let count): throw RedisError.oversized(count, endpoint: configuration.place)
        default: throw unexpected(command)
        }
    }

    func unexpected(_ command: String) -> RedisError {
        .unexpected(command, endpoint: configuration.place)
    }

    /// A lifetime as the server takes it: whole milliseconds, rounded up, so that nothing becomes "already expired".
    func expiry(_ lifetime: Duration) throws -> Int64 {
        guard lifetime > .zero else {
            throw RedisError(code: .invalidArgument, message: "a time to live is not above zero")
        }
        let nanoseconds = lifetime.saturatedNanoseconds
        return nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
    }
}

/// How long a key has to live.
public enum RedisTimeToLive: Sendable, Hashable {
    /// There is no such key.
    case absent
    /// It does not expire.
    case unlimited
    /// It expires after this long.
    case remaining(Duration)
}
