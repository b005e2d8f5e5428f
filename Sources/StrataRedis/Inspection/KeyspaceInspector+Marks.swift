internal import Strata

/// What lies where a keyspace's numbers of invalidations belong.
package struct MarksInspection: Sendable {
    package enum State: Sendable, Hashable {
        /// Nothing: no instance has used the keyspace, or it was evicted.
        case absent
        /// A value of another type; its name as TYPE gives it.
        case otherType(String)
        /// A hash without the numbers, or with such as make no sense.
        case broken
        case sound(KeyExplanation.Marks)
    }

    package let keyspace: Keyspace
    /// The number of the part that they are those of; `nil` if the keyspace has no parts.
    package let part: Int?
    package let state: State
    /// How many fields there are; one for each tag that was invalidated, and a few more.
    package let fields: Int
    package let timeToLive: RedisTimeToLive
}

extension KeyspaceInspector {
    /// The state of the keyspace's numbers; in a cluster, of each of its parts.
    ///
    /// Two round trips. Nothing is changed: what an instance would mend stays as it is.
    package func marks() async throws -> [MarksInspection] { try await redis.inEachPart { try await marks(of: $0) } }

    private func marks(of part: KeyspacePart?) async throws -> MarksInspection {
        let name = RedisKey(keyspace.marks(of: part))
        let (lifetime, type) = try await concurrently { [redis] in
            try await redis.timeToLive(of: name)
        } and: {
            try await redis.send([Array("TYPE".utf8), name.bytes], repeatable: true).string ?? "none"
        }
        let state: MarksInspection.State
        var fields = 0
        switch type {
        case "none": state = .absent
        case "hash":
            let (count, numbers) = try await concurrently { [redis] in
                try await redis.count(of: "HLEN", .repeatable, [name])
            } and: {
                try await redis.tagNumbers(of: [], in: keyspace, part)
            }
            fields = count
            if let marks = numbers.marks {
                state = .sound(KeyExplanation.Marks(sequence: marks.sequence, clear: marks.clear))
            } else {
                state = .broken
            }
        default: state = .otherType(type)
        }
        return MarksInspection(
            keyspace: keyspace,
            part: part?.number,
            state: state,
            fields: fields,
            timeToLive: lifetime
        )
    }

    /// The keyspaces under a prefix that have numbers of invalidations, which is all that were used within a month.
    ///
    /// O(keys of the database) at the server, in small steps.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - prefix: The prefix.
    ///   - limit: Most keyspaces to return.
    /// - Returns: The keyspaces by name, and whether there are more.
    /// - Throws: ``RedisError``; `CancellationError`.
    package static func keyspaces(
        _ redis: RedisClient,
        prefix: String,
        limit: Int
    ) async throws -> (keyspaces: [Keyspace], more: Bool) {
        var found: Set<Keyspace> = []
        let beginning = Keyspace.component(prefix) + [UInt8(ascii: ":")]
        let isDivided = redis.cluster != nil
        let ending = isDivided ? "*:t:marks:{*}" : "*:t:marks"
        for try await batch in RedisKeyBatches(client: redis, prefix: beginning, followedBy: ending) {
            for name in batch {
                guard let base = Keyspace.splitMarks(name.bytes)?.base, let keyspace = Keyspace(base: base),
                    case .some(let part) = keyspace.part(ofMarks: name.bytes), isDivided == (part != nil)
                else { continue }
                if found.count >= limit, !found.contains(keyspace) { return (found.sorted(), true) }
                found.insert(keyspace)
            }
        }
        return (found.sorted(), false)
    }
}

extension Set<Keyspace> {
    fileprivate func sorted() -> [Keyspace] { sorted { $0.name < $1.name } }
}
