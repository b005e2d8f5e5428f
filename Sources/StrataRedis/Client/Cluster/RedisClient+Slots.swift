internal import Strata

extension RedisClient {
    /// The positions of keys by their slots; `nil` when all lie in one.
    func slots(of keys: [RedisKey]) -> [[Int]]? {
        guard keys.count > 1 else { return nil }
        var places: [UInt16: Int] = [:]
        var parts: [[Int]] = []
        for (position, key) in keys.enumerated() {
            let slot = HashSlot.of(key)
            if let place = places[slot] {
                parts[place].append(position)
            } else {
                places[slot] = parts.count
                parts.append([position])
            }
        }
        return parts.count > 1 ? parts : nil
    }

    /// Does something with the keys of each slot, with all slots at once.
    ///
    /// The commands for a node leave in one write.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - parts: Their positions by slot.
    ///   - body: Answers for keys of one slot, in their order.
    /// - Returns: The answers in the order of all keys.
    /// - Throws: The first error.
    func bySlot<Answer: Sendable>(
        _ keys: [RedisKey],
        _ parts: [[Int]],
        _ body: @escaping @Sendable ([RedisKey]) async throws -> [Answer]
    ) async throws -> [Answer] {
        try await withThrowingTaskGroup(of: ([Int], [Answer]).self) { group in
            for part in parts {
                group.addTask { (part, try await body(part.map { keys[$0] })) }
            }
            var answers = [Answer?](repeating: nil, count: keys.count)
            for try await (part, some) in group {
                for (position, answer) in zip(part, some) { answers[position] = answer }
            }
            return answers.compactMap { $0 }
        }
    }

    /// Whether it goes to the nodes of a cluster.
    package var isCluster: Bool { cluster != nil }

    /// The clients of all primaries; this one alone for a single server.
    ///
    /// - Throws: ``RedisError`` when no node tells of the cluster; `CancellationError`.
    package func primaries() async throws -> [RedisClient] {
        guard let cluster else { return [self] }
        let deadline = MonotonicInstant.now.advanced(by: configuration.commandTimeout)
        return try await cluster.view(by: deadline).nodes.map { try $0.client() }
    }
}
