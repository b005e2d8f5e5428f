public import Strata

extension CacheLevel where Key: KeyRepresentable {
    /// Fills memory with the keys that are hot in the memory of other instances, before readers ask.
    ///
    /// ```swift
    /// let report = try await products.warm(fromInstancesOf: level)
    /// if report.answered == 0 { logger.info("no other instance has answered: memory begins cold") }
    /// ```
    ///
    /// Other instances have to run a ``FleetMember`` with their memory. They name keys and tell no values.
    /// ``/Strata/CacheLevel/warm(from:_:)`` reads the values through this cache, so they are what Redis holds, and
    /// later changes void them like any other. A key that several instances name comes as early as the one that ranks
    /// it highest has it.
    ///
    /// It first waits until the link stands (``RedisLevel/ready(within:)``), for 5 seconds at most, since values that
    /// are read before stay in memory for seconds only. The rights of ``AccessRules/Purpose/cache`` suffice. Round
    /// trips: some to list the instances, one to ask, some looks for their answers, then one for each batch.
    ///
    /// - Parameters:
    ///   - level: The Redis level of this cache.
    ///   - options: How many keys, how many instances, and how long to wait.
    ///   - reading: Makes a key from its ``/Strata/KeyRepresentable/keyBytes``; needed for key types of your own, but
    ///     not for `String`, integers, `UUID` and types with such a raw value.
    /// - Returns: Which instances answered, and what became of the keys. It is no error if none answered.
    /// - Throws: ``RedisError``, with ``RedisError/Code/timeout`` while Redis is away, and
    ///   ``RedisError/Code/invalidArgument`` when keys of this type cannot be made from their bytes;
    ///   `CancellationError`.
    @discardableResult
    public func warm(
        fromInstancesOf level: RedisLevel<Key, some Sendable>,
        _ options: FleetWarmingOptions = FleetWarmingOptions(),
        reading: (@Sendable ([UInt8]) -> Key?)? = nil
    ) async throws -> FleetWarmingReport {
        guard reading != nil || Key.isReadable else {
            throw RedisError(
                code: .invalidArgument,
                message: "keys of this type cannot be made from their bytes: say how (reading:)"
            )
        }
        let begun = MonotonicInstant.now
        try await level.ready(within: min(options.warming.limit, .longestStartWait))
        let inspector = FleetInspector(level.redis, level.keyspace)
        var report = FleetWarmingReport()
        let own = level.redis.cache.ownNumbers.withLock { $0 }
        let others = try await inspector.instances().instances.filter { $0.record != nil && !own.contains($0.number) }
        report.listed = others.count
        let asked = others.shuffled().sorted { $0.isSettled && !$1.isSettled }.prefix(options.usableInstances)
        report.asked = asked.count
        let answers = try await inspector.hottest(
            options.usableKeys,
            in: Array(asked),
            within: min(max(options.answerLimit, .zero), .seconds(10))
        )
        var lists: [[[UInt8]]] = []
        for answer in answers.values {
            switch answer {
            case .content(let hottest): lists.append(hottest.keys)
            case .unusable: report.unusable += 1
            case .none: break
            }
        }
        report.answered = lists.count
        let keys = lists.interleaved(upTo: options.usableKeys) { bytes in
            let key = reading.map { $0(bytes) } ?? Key.reading(bytes)
            return key?.keyBytes == bytes ? key : nil
        }
        report.named = keys.count
        var warming = options.warming
        warming.limit = max(.zero, warming.limit - begun.duration(to: .now))
        report.warming = try await warm(from: keys, warming)
        return report
    }
}

extension FleetInstance {
    /// Whether it has been there for long enough to have seen what is hot.
    fileprivate var isSettled: Bool { record.map { $0.uptime >= 60_000 } ?? false }
}

extension [[[UInt8]]] {
    /// The first key of each list, then the second of each, and so on, each once.
    fileprivate func interleaved<Key: Hashable>(upTo most: Int, _ read: ([UInt8]) -> Key?) -> [Key] {
        var keys: [Key] = []
        var seen: Set<Key> = []
        for rank in 0..<(map(\.count).max() ?? 0) {
            for list in self where rank < list.count {
                guard keys.count < most else { return keys }
                if let key = read(list[rank]), seen.insert(key).inserted { keys.append(key) }
            }
        }
        return keys
    }
}
