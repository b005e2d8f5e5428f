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

    /// Does something with the keys of each slot, with all slots at once, as far as connections take so many calls.
    ///
    /// The commands for a node leave in one write. A slot that fails keeps no other from being served.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - parts: Their positions by slot.
    ///   - timeout: How long all may take, the wait for other parts of their node included; `nil` is the client's
    ///     ``RedisConfiguration/commandTimeout``.
    ///   - body: Answers for keys of one slot, in their order, within the time that is left.
    /// - Returns: The outcome of each key, in the order of all keys.
    func outcomesBySlot<Answer: Sendable>(
        _ keys: [RedisKey],
        _ parts: [[Int]],
        timeout: Duration? = nil,
        _ body: @escaping @Sendable ([RedisKey], _ left: Duration) async throws -> [Answer]
    ) async -> [Result<Answer, any Error>] {
        var outcomes = [Result<Answer, any Error>?](repeating: nil, count: keys.count)
        let deadline = MonotonicInstant.now.advanced(by: timeout ?? configuration.commandTimeout)
        let answers = await parts.outcomes { [self] part in
            let some = part.map { keys[$0] }
            let node = responsible(for: some[0])
            return try await node.manyKeys.run {
                // Parts before it have waited for a node that does not answer.
                let left = MonotonicInstant.now.duration(to: deadline)
                guard left > .zero else { throw RedisError.late(node.configuration.place) }
                return try await body(some, left)
            }
        }
        for (part, outcome) in zip(parts, answers) {
            for (place, position) in part.enumerated() { outcomes[position] = outcome.map { $0[place] } }
        }
        return outcomes.compactMap { $0 }
    }

    /// The same for a call that has succeeded when all slots have.
    ///
    /// - Returns: The answers in the order of all keys.
    /// - Throws: The first slot's error, when all have ended; with ``RedisError/Effect/ambiguous`` when another slot's
    ///   command was run.
    func bySlot<Answer: Sendable>(
        _ keys: [RedisKey],
        _ parts: [[Int]],
        timeout: Duration?,
        _ body: @escaping @Sendable ([RedisKey], _ left: Duration) async throws -> [Answer]
    ) async throws -> [Answer] {
        try allAnswers(await outcomesBySlot(keys, parts, timeout: timeout, body))
    }

    /// How many keys of one slot are asked for by themselves at a time: other calls have to find room beside them.
    private static var singlesAtOnce: Int { 128 }

    /// A command with keys of one slot as its arguments: one for all, or one for each while some of them are at another
    /// node.
    ///
    /// As long as a slot is on its way, a command for several of its keys is refused where not all are in one place,
    /// and one for a single key is not.
    ///
    /// - Parameters:
    ///   - command: The name of the command.
    ///   - repetition: Whether it may be sent again.
    ///   - keys: The keys, at least one.
    ///   - timeout: How long all may take; `nil` is the client's ``RedisConfiguration/commandTimeout``.
    ///   - expected: What kinds of replies it has.
    /// - Returns: The reply, or those for single keys in their order.
    /// - Throws: The first key's error; with ``RedisError/Effect/ambiguous`` when the command was run for another.
    func ofOneSlot(
        _ command: StaticString,
        _ repetition: Repetition,
        _ keys: [RedisKey],
        timeout: Duration?,
        expecting expected: ReplyKinds
    ) async throws -> [RESPValue] {
        @Sendable func send(_ keys: [RedisKey], _ timeout: Duration?) async throws -> RESPValue {
            try await execute(
                repetition,
                timeout: timeout,
                slot: HashSlot.of(keys[0]),
                expecting: expected,
                divisible: keys.count > 1
            ) { writer in
                writer.begin(keys.count + 1)
                writer.argument(command)
                for key in keys { writer.argument(key) }
            }
        }
        guard cluster != nil, keys.count > 1 else { return [try await send(keys, timeout)] }
        let deadline = MonotonicInstant.now.advanced(by: timeout ?? configuration.commandTimeout)
        do {
            return [try await send(keys, timeout)]
        } catch let error as RedisError where error.serverCode == "TRYAGAIN" {
            var outcomes: [Result<RESPValue, any Error>] = []
            var rest = keys[...]
            while !rest.isEmpty {
                outcomes += await rest.prefix(Self.singlesAtOnce)
                    .outcomes { try await send([$0], max(.zero, MonotonicInstant.now.duration(to: deadline))) }
                rest = rest.dropFirst(Self.singlesAtOnce)
            }
            do { return try allAnswers(outcomes) } catch let failure as RedisError {
                // An attempt before may have been run whose connection was lost.
                throw error.effect == .ambiguous ? failure.after(.ambiguous) : failure
            }
        }
    }

    /// The answers where all parts of a call have one.
    ///
    /// - Throws: As ``bySlot(_:_:timeout:_:)``.
    private func allAnswers<Answer>(_ outcomes: [Result<Answer, any Error>]) throws -> [Answer] {
        let errors = outcomes.compactMap(\.failure)
        guard let first = errors.first else { return try outcomes.map { try $0.get() } }
        try Task.checkCancellation()
        guard let error = first as? RedisError else { throw first }
        let isUntouched =
            errors.count == outcomes.count && errors.allSatisfy { ($0 as? RedisError)?.effect == .notApplied }
        throw error.after(isUntouched ? .notApplied : .ambiguous)
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

extension RedisError {
    fileprivate static func late(_ endpoint: String) -> RedisError {
        RedisError(
            code: .timeout,
            message: "the wait for earlier calls to the node used up the time",
            endpoint: endpoint,
            effect: .notApplied
        )
    }
}

extension Result {
    /// Why there is no value; `nil` if there is one.
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
