extension RedisClient {
    /// GET: the value of a key, `nil` when there is none.
    ///
    /// One round trip.
    ///
    /// - Throws: ``RedisError``; a key that holds another type than a string gives ``RedisError/Code/server``.
    public func get(_ key: RedisKey, timeout: Duration? = nil) async throws -> [UInt8]? {
        let reply = try await execute(.repeatable, timeout: timeout, slot: HashSlot.of(key), expecting: .value) {
            writer in
            writer.begin(2)
            writer.argument("GET" as StaticString)
            writer.argument(key)
        }
        return try optionalBytes(reply, of: "GET")
    }

    /// MGET: the values of several keys in their order, `nil` where there is none or the key holds another type.
    ///
    /// One round trip; none at all for no keys. In a cluster one command for each slot, all at once.
    ///
    /// - Throws: ``RedisError``, also where one value is larger than ``RedisConfiguration/replyLimits`` allow.
    public func get(_ keys: [RedisKey], timeout: Duration? = nil) async throws -> [[UInt8]?] {
        guard !keys.isEmpty else { return [] }
        if cluster != nil, let parts = slots(of: keys) {
            return try await bySlot(keys, parts, timeout: timeout) { try await self.get($0, timeout: $1) }
        }
        let found = try await values(of: keys, timeout: timeout)
        if let first = found.failures.min(by: { $0.key < $1.key }) { throw first.value }
        return found.values
    }

    /// MGET of keys of one slot: the values, and what has failed by itself, as a value that is too large has.
    func values(of keys: [RedisKey], timeout: Duration? = nil) async throws -> ManyValues {
        let replies = try await ofOneSlot("MGET", .repeatable, keys, timeout: timeout, expecting: .list)
        var found = ManyValues()
        found.values.reserveCapacity(keys.count)
        for reply in replies {
            // Of the only one, or one for each key.
            guard case .array(let elements) = reply, elements.count * replies.count == keys.count else {
                throw unexpected("MGET")
            }
            for element in elements {
                if case .oversized(let count) = element {
                    found.failures[found.values.count] = .oversized(count, endpoint: configuration.place)
                    found.values.append(nil)
                } else {
                    found.values.append(try optionalBytes(element, of: "MGET"))
                }
            }
        }
        return found
    }

    /// GETRANGE: the bytes of a value from `first` to `last`, both included; empty when there is no value.
    ///
    /// Negative positions count from the end. One round trip.
    public func getRange(
        _ key: RedisKey,
        from first: Int,
        through last: Int,
        timeout: Duration? = nil
    ) async throws -> [UInt8] {
        let reply = try await execute(
            .repeatable,
            timeout: timeout,
            slot: HashSlot.of(key),
            expecting: [.bytes, .large]
        ) { writer in
            writer.begin(4)
            writer.argument("GETRANGE" as StaticString)
            writer.argument(key)
            writer.argument(Int64(first))
            writer.argument(Int64(last))
        }
        guard let bytes = reply.bytes else { throw unexpected("GETRANGE") }
        return bytes
    }

    /// STRLEN: the length of a value in bytes, 0 when there is none.
    ///
    /// One round trip.
    public func length(of key: RedisKey) async throws -> Int {
        try await count(of: "STRLEN", .repeatable, [key])
    }

    /// When SET writes.
    public enum SetCondition: Sendable, Hashable {
        /// Always.
        case always
        /// NX: only if the key does not exist.
        case absent
        /// XX: only if the key exists.
        case present
    }

    /// SET: writes a value, with a time to live and a condition.
    ///
    /// One round trip.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - value: Its new value.
    ///   - lifetime: When the key expires, in whole milliseconds of at least one; `nil` means never.
    ///   - condition: Whether the key has to be absent or present.
    ///   - repeatable: Whether it may be sent again when it is not known whether the server has run it. It may then
    ///     overwrite what others wrote in between, and with a condition get another answer than the first time.
    ///   - timeout: How long the call may take.
    /// - Returns: False when the condition kept the value from being written.
    /// - Throws: ``RedisError``, with ``RedisError/Code/tooLarge`` for a value above ``ReplyLimits/longestValue``;
    ///   `CancellationError`.
    @discardableResult
    public func set(
        _ key: RedisKey,
        _ value: [UInt8],
        expiringIn lifetime: Duration? = nil,
        if condition: SetCondition = .always,
        repeatable: Bool = false,
        timeout: Duration? = nil
    ) async throws -> Bool {
        let milliseconds = try lifetime.map { try expiry($0) }
        let longest = configuration.replyLimits.longestValue
        guard value.count <= longest else {
            throw RedisError(
                code: .tooLarge,
                message: "a value of \(value.count) bytes could not be read back: the limit is \(longest)",
                endpoint: configuration.place
            )
        }
        let count = 3 + (milliseconds == nil ? 0 : 2) + (condition == .always ? 0 : 1)
        let reply = try await execute(
            repeatable ? .repeatable : .once,
            timeout: timeout,
            slot: HashSlot.of(key),
            expecting: [.status, .null]
        ) { writer in
            writer.begin(count)
            writer.argument("SET" as StaticString)
            writer.argument(key)
            writer.argument(value)
            if let milliseconds {
                writer.argument("PX" as StaticString)
                writer.argument(milliseconds)
            }
            switch condition {
            case .always: break
            case .absent: writer.argument("NX" as StaticString)
            case .present: writer.argument("XX" as StaticString)
            }
        }
        return !reply.isNull
    }

    /// SET: writes the bytes of a sequence, such as `Data`.
    ///
    /// Otherwise the same as with `[UInt8]`.
    ///
    /// - Throws: ``RedisError``, with ``RedisError/Code/tooLarge`` for a value above ``ReplyLimits/longestValue``;
    ///   `CancellationError`.
    @discardableResult
    public func set(
        _ key: RedisKey,
        _ value: some Sequence<UInt8>,
        expiringIn lifetime: Duration? = nil,
        if condition: SetCondition = .always,
        repeatable: Bool = false,
        timeout: Duration? = nil
    ) async throws -> Bool {
        try await set(
            key,
            Array(value),
            expiringIn: lifetime,
            if: condition,
            repeatable: repeatable,
            timeout: timeout
        )
    }
}
